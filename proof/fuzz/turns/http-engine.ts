/** The model behind the real adapters: vLLM, llama-server or a text server, with their HTTP frames. */
import { z } from "zod";
import {
  type CompletionRequest,
  createEngine,
  type Engine,
  EngineError,
  type Transport,
} from "../../../src/index.ts";
import {
  type FrameWriter,
  SERVED_MODEL,
  type Wire as ServerWire,
  WIRES,
} from "../../../test/helpers/llama-wires.ts";
import { spelledRequest } from "../../../test/helpers/spelled.ts";
import type { Wire } from "./case.ts";
import { beginCall, createTokenWriter, type Session, shownIds } from "./engine.ts";
import { requestText } from "../../../test/helpers/request-text.ts";

type TransportResponse = Awaited<ReturnType<Transport>>;

/** `sessions` has only the request in flight: not every server receives the request's id. */
export function createHttpEngine(wire: Wire, sessions: ReadonlyMap<string, Session>): Engine {
  const transport: Transport = (request) => {
    const [session] = sessions.values();
    if (session === undefined) throw new Error("no request is under way");
    return Promise.resolve(answer(session, JSON.parse(requestText(request.body)), request.signal));
  };
  const options = { url: "http://fuzz.test", model: SERVED_MODEL, transport };
  switch (wire) {
    case "ids":
      return createEngine("vllm", options);
    case "pieces":
      return createEngine("llama-cpp", options);
    case "markers": {
      const engine = createEngine("completions", options);
      // The capabilities that the probe detects.
      return { ...engine, capabilities: { ...engine.capabilities, showsMarkers: true } };
    }
    case "text":
      return createEngine("completions", options);
    default:
      return wire satisfies never;
  }
}

function answer(session: Session, body: unknown, signal: AbortSignal): TransportResponse {
  const server = serverOf(session.case.wire);
  const request = server.readRequest(body);
  let isOpen = false;
  try {
    const record = beginCall(session, request);
    return respond(
      200,
      "text/event-stream",
      async (give) => {
        session.open++;
        isOpen = true;
        const writer = server.createWriter(request, body);
        const ids = shownIds(record.completion, session.case.engine);
        for (let at = 0, read = 0; at < ids.length; read++) {
          const batch = ids.slice(at, at + (session.batches[read % session.batches.length] ?? 1));
          at += batch.length;
          record.read = at;
          signal.throwIfAborted();
          if (
            !(await give(
              toFrames(writer.tokens({ type: "ids", ids: batch, ...toLogprobs(request, batch) })),
            ))
          ) {
            return;
          }
        }
        record.read = record.completion.ids.length;
        record.isFinished = true;
        const usage = { prompt: record.prompt.length, cached: 0 };
        await give(toFrames(writer.finish(record.completion.reason, usage)) + writer.end);
      },
      () => {
        if (isOpen) session.open--;
        isOpen = false;
      },
    );
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    const text = JSON.stringify(server.writeError(error));
    return respond(400, "application/json", async (give) => void (await give(text)));
  }
}

function toLogprobs(request: CompletionRequest, ids: readonly number[]) {
  const tokens = createTokenWriter("ids", request)(ids, false);
  return tokens?.type === "ids" && tokens.logprobs ? { logprobs: tokens.logprobs } : {};
}

function respond(
  status: number,
  contentType: string,
  write: (give: (text: string) => Promise<boolean>) => Promise<void>,
  close: () => void = () => {},
): TransportResponse {
  return {
    status,
    headers: { get: (name) => (name.toLowerCase() === "content-type" ? contentType : null) },
    pump: (take) => write(async (text) => take(new TextEncoder().encode(text))),
    close,
  };
}

function toFrames(frames: readonly unknown[]): string {
  return frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join("");
}

function serverOf(wire: Wire): ServerWire {
  const path = { ids: "/v1/completions", pieces: "/completion", markers: "", text: "" }[wire];
  return WIRES.get(path) ?? toTextServer(wire);
}

const textBody = z.object({
  prompt: z.string(),
  max_tokens: z.int(),
  seed: z.int().optional(),
  logit_bias: z.record(z.string(), z.number()).default({}),
});

/** A server that reads and writes text. */
function toTextServer(wire: Wire): ServerWire {
  return {
    readRequest(given) {
      const body = textBody.parse(given);
      const bias = Object.entries(body.logit_bias).map(
        ([id, value]) => [Number(id), value] as const,
      );
      const request = spelledRequest(body.prompt, { maxTokens: body.max_tokens });
      const sampling = {
        ...request.sampling,
        logitBias: new Map(bias),
        ...(body.seed !== undefined && { seed: body.seed }),
      };
      return { ...request, sampling };
    },
    createWriter: (request) => createTextWriter(wire, request),
    writeError: ({ message }) => ({ error: { message, type: "BadRequestError", code: 400 } }),
  };
}

function createTextWriter(wire: Wire, request: CompletionRequest): FrameWriter {
  const write = createTokenWriter(wire, request);
  let completion = 0;
  const frame = (text: string, reason: string | null) => ({
    choices: [{ index: 0, text, finish_reason: reason }],
  });
  return {
    tokens({ ids }) {
      completion += ids.length;
      const tokens = write(ids, false);
      return tokens?.type === "text" ? [frame(tokens.text, null)] : [];
    },
    finish(reason, { prompt }) {
      // The rest of a truncated character.
      const rest = write([], true);
      const text = rest?.type === "text" ? rest.text : "";
      // The server counts the stop token, which it does not send.
      const total = completion + (reason === "stop" ? 1 : 0);
      return [
        frame(text, reason),
        { choices: [], usage: { prompt_tokens: prompt, completion_tokens: total } },
      ];
    },
    end: "data: [DONE]\n\n",
  };
}
