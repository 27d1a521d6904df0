/**
 * A fake vLLM server that answers every prompt with the same text, token by token, until a test switches a fault on.
 */
import type { ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { spelledIds } from "./spelled.ts";
import { startVllmServer, toFrame, type VllmServer } from "./vllm-server.ts";

export type Illness =
  | "none"
  /** Accepts requests and sends nothing more. */
  | "hang"
  /** Three times as long for every token. */
  | "slow"
  /** Invalid frames, of one of five kinds. */
  | "corrupt";

export interface FaultyVllm extends VllmServer {
  illness: Illness;
  /** The numbers of the prompts (`number 17`) for which a token was written. */
  readonly begun: Set<number>;
  /** Called with the number of a prompt whose client disconnected early. */
  onLeft: (prompt: number) => void;
  /** Awaited before the token with this index of the prompt's answer is written. */
  hold: (prompt: number, index: number) => Promise<void> | undefined;
}

export interface FaultyVllmOptions {
  /** The answer, after the header of the final channel. */
  readonly text: string;
  readonly tokenMs: number;
}

export async function startFaultyVllm({ text, tokenMs }: FaultyVllmOptions): Promise<FaultyVllm> {
  const ids = spelledIds(`<|channel|>final<|message|>${text}<|return|>`);
  const begun = new Set<number>();

  const stream = async (prompt: number, response: ServerResponse): Promise<void> => {
    response.on("close", () => {
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

  const server = await startVllmServer({
    isFrozen: () => vllm.illness === "hang",
    complete(_, number, response) {
      if (number !== undefined) return stream(number, response);
      response.setHeader("content-type", "text/event-stream");
      if (vllm.illness === "corrupt") return corrupt(0, response);
      response.end(`${toFrame(spelledIds("<|return|>"), "stop")}data: [DONE]\n\n`);
    },
  });

  const vllm: FaultyVllm = {
    url: server.url,
    illness: "none",
    begun,
    get isUp() {
      return server.isUp;
    },
    get open() {
      return server.open;
    },
    onLeft: () => {},
    hold: () => undefined,
    kill: () => server.kill(),
    revive: () => server.revive(),
  };
  return vllm;
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
