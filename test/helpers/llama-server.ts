/**
 * llama.cpp behind HTTP: real tokens of the tiny model, in the wire formats of vLLM and llama-server. The servers'
 * answers, field by field, are recorded in `test/fixtures/engines`; here the tokens are not known beforehand, and the
 * server reacts to requests and to disconnecting clients.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { z } from "zod";
import { EngineError } from "../../src/index.ts";
import type { NativeLlama } from "../../src/node/llama/engine.ts";
import { listenAnywhere } from "./listen.ts";
import { SERVED_MODEL, WIRES, type Wire } from "./llama-wires.ts";
import { createTinyEngine } from "./tiny-llama.ts";

export interface LlamaServer {
  readonly url: string;
  /** The bodies of all completion requests, oldest first. */
  readonly received: readonly Readonly<Record<string, unknown>>[];
  /** Number of running completions. */
  readonly running: number;
  close(): Promise<void>;
}

/** @param shared an engine shared with other servers, which is not closed. Absent: a new engine. */
export async function startLlamaServer(shared?: NativeLlama): Promise<LlamaServer> {
  const engine = shared ?? (await createTinyEngine());
  const { contextLength = 0 } = await engine.probe(new AbortController().signal);
  const received: Record<string, unknown>[] = [];
  let running = 0;

  const server = createServer((request, response) => {
    void answer(request, response);
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const wire = WIRES.get(request.url ?? "");
    if (wire !== undefined) {
      const body = z.record(z.string(), z.unknown()).parse(JSON.parse(await text(request)));
      received.push(body);
      running += 1;
      await complete(engine, wire, body, response);
      running -= 1;
      return;
    }
    const document = describe(request.url ?? "", contextLength);
    response.writeHead(document === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(document ?? { error: { message: "Not Found", code: 404 } }));
  }

  return {
    url: `http://127.0.0.1:${await listenAnywhere(server)}`,
    received,
    get running() {
      return running;
    },
    async close() {
      server.closeAllConnections();
      await server[Symbol.asyncDispose]();
      if (shared === undefined) await engine.close();
    },
  };
}

/** The documents that clients of both kinds request when they probe. */
function describe(path: string, contextLength: number): unknown {
  switch (path) {
    case "/v1/models":
      return {
        object: "list",
        data: [{ id: SERVED_MODEL, object: "model", max_model_len: contextLength }],
      };
    case "/version":
      return { version: "0.14.1" };
    case "/props":
      return {
        default_generation_settings: { n_ctx: contextLength },
        total_slots: 2,
        build_info: "b10574",
      };
    default:
      return undefined;
  }
}

async function complete(
  engine: NativeLlama,
  wire: Wire,
  body: unknown,
  response: ServerResponse,
): Promise<void> {
  const abort = new AbortController();
  response.on("close", () => abort.abort());
  const request = wire.readRequest(body);
  const writer = wire.createWriter(request, body);
  const write = (frames: unknown[]) => {
    for (const frame of frames) response.write(`data: ${JSON.stringify(frame)}\n\n`);
  };
  try {
    for await (const event of engine.complete(request, abort.signal)) {
      if (event.type === "open") response.writeHead(200, { "content-type": "text/event-stream" });
      if (event.type === "ids") write(writer.tokens(event));
      if (event.type !== "finish") continue;
      const { promptTokens: prompt = 0, cachedTokens: cached = 0 } = event.usage ?? {};
      write(writer.finish(event.reason, { prompt, cached }));
      response.write(writer.end);
    }
  } catch (error) {
    if (error instanceof EngineError && !response.headersSent) {
      response.writeHead(400, { "content-type": "application/json" });
      response.write(JSON.stringify(wire.writeError(error)));
    }
  }
  response.end();
}
