/**
 * A vLLM server that answers every prompt with the same text, token by token, until a test makes it fall ill.
 * Keeps nothing of what it was asked, so that memory can be measured beside it.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Server, Socket } from "node:net";
import { z } from "zod";
import { o200kHarmony } from "../../src/tokenizer/index.ts";
import { portOf } from "./fake-upstream.ts";
import { spelledIds } from "./spelled.ts";

export type Illness =
  | "none"
  /** Takes requests, and says nothing more to anybody. */
  | "hang"
  /** Three times as long for every token. */
  | "slow"
  /** Something that is no frame, in one of five ways. */
  | "corrupt";

export interface FaultyVllm {
  readonly url: string;
  illness: Illness;
  /** The numbers of the prompts (`number 17`) it has written a token for. */
  readonly begun: Set<number>;
  /** Completions whose connection is open and whose answer has not ended. */
  readonly open: number;
  /** Called with the number of a prompt whose answer the client did not wait for. */
  onLeft: (prompt: number) => void;
  /** Awaited before it writes the token with this index of the answer to this prompt. */
  hold: (prompt: number, index: number) => Promise<void> | undefined;
  /** Breaks every connection and takes no new one. */
  kill(): Promise<void>;
  /** Listens again, where it did. */
  revive(): Promise<void>;
}

export interface FaultyVllmOptions {
  /** What it answers, after the header of the final channel. */
  readonly text: string;
  readonly tokenMs: number;
}

export async function startFaultyVllm({ text, tokenMs }: FaultyVllmOptions): Promise<FaultyVllm> {
  const ids = spelledIds(`<|channel|>final<|message|>${text}<|return|>`);
  const sockets = new Set<Socket>();
  const begun = new Set<number>();
  let open = 0;

  const stream = async (prompt: number, response: ServerResponse): Promise<void> => {
    open += 1;
    response.on("close", () => {
      open -= 1;
      if (!response.writableFinished) vllm.onLeft(prompt);
    });
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.flushHeaders();
    for (const [at, id] of ids.entries()) {
      await pause(vllm.illness === "slow" ? 3 * tokenMs : tokenMs);
      await vllm.hold(prompt, at);
      if (response.destroyed || vllm.illness === "hang") return;
      if (vllm.illness === "corrupt") return corrupt(prompt, response);
      begun.add(prompt);
      const isLast = at === ids.length - 1;
      response.write(toFrame([id], isLast ? "stop" : null));
    }
    response.end("data: [DONE]\n\n");
  };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readAll(request);
    if (vllm.illness === "hang") return;
    if (request.url !== "/v1/completions") {
      const models = { data: [{ id: "openai/gpt-oss-20b", max_model_len: 131_072 }] };
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(request.url === "/v1/models" ? models : { version: "0.14.1" }));
      return;
    }
    const prompt = o200kHarmony().decode(completion.parse(JSON.parse(body)).prompt);
    const number = /number (\d+)/.exec(prompt)?.[1];
    if (number !== undefined) return stream(Number(number), response);
    // The gateway's probe.
    response.setHeader("content-type", "text/event-stream");
    if (vllm.illness === "corrupt") return corrupt(0, response);
    response.end(`${toFrame(spelledIds("<|return|>"), "stop")}data: [DONE]\n\n`);
  };

  const server = createServer((request, response) => {
    // The client may leave while we write.
    response.on("error", () => {});
    void answer(request, response).catch(() => response.destroy());
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("close", () => sockets.delete(socket));
  });
  await listen(server, 0);
  const port = portOf(server);

  const vllm: FaultyVllm = {
    url: `http://127.0.0.1:${port}`,
    illness: "none",
    begun,
    get open() {
      return open;
    },
    onLeft: () => {},
    hold: () => undefined,
    kill() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => {
        server.close(() => resolve());
      });
    },
    revive: () => listen(server, port),
  };
  return vllm;
}

const completion = z.object({ prompt: z.array(z.number()) });

function toFrame(ids: readonly number[], finish: string | null): string {
  const choice = { index: 0, text: "", token_ids: ids, finish_reason: finish };
  return `data: ${JSON.stringify({ choices: [choice] })}\n\n`;
}

const ERROR_FRAME =
  'data: {"error":{"message":"boom","type":"InternalServerError","code":500}}\n\n';

function corrupt(prompt: number, response: ServerResponse): void {
  const ways = [
    () => response.write('data: {"choices":[{"index":0,"token_ids":[13225\n\n'),
    () => response.write('data: {"choices":[{"index":0,"text":"","token_ids":["x"]}]}\n\n'),
    () => response.write(new Uint8Array([0x64, 0x61, 0x74, 0x61, 0x3a, 0x20, 0xff, 0xfe, 10, 10])),
    () => response.end(ERROR_FRAME),
    () => response.end(),
  ];
  ways[prompt % ways.length]?.();
}

async function readAll(request: IncomingMessage): Promise<string> {
  let text = "";
  request.setEncoding("utf8");
  for await (const chunk of request) text += String(chunk);
  return text;
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve) => {
    server.listen(port, "127.0.0.1", resolve);
  });
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
