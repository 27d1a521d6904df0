/**
 * A server on loopback with vLLM's wire, for engines that fail: it can be killed and revived, and its user defines the
 * answers. It keeps no requests, so that memory can be measured beside it.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { z } from "zod";
import type { CompletionRequest, EngineEvent } from "../../src/index.ts";
import { o200kHarmony, type TokenId } from "../../src/tokenizer/index.ts";
import { listenAnywhere } from "./listen.ts";

export interface VllmServer {
  readonly url: string;
  readonly isUp: boolean;
  /** Completions whose connection is open and whose answer has not ended. */
  readonly open: number;
  /** Breaks every connection and accepts no new ones. */
  kill(): Promise<void>;
  /** Listens again, on the same port. */
  revive(): Promise<void>;
}

export interface VllmServerOptions {
  /** While true, requests are read and not answered, not even health checks. */
  isFrozen(): boolean;
  /**
   * Answers a completion.
   * @param number From `number 17` in the prompt. Undefined: the gateway's own probe.
   */
  complete(
    prompt: string,
    number: number | undefined,
    response: ServerResponse,
  ): void | Promise<void>;
}

export async function startVllmServer(options: VllmServerOptions): Promise<VllmServer> {
  let open = 0;
  let isUp = true;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    if (options.isFrozen()) return;
    if (request.url !== "/v1/completions") {
      response.setHeader("content-type", "application/json");
      response.end(toServerInfo(request.url));
      return;
    }
    open++;
    response.once("close", () => open--);
    const prompt = readPrompt(body);
    const number = /number (\d+)/.exec(prompt)?.[1];
    await options.complete(prompt, number === undefined ? undefined : Number(number), response);
  }

  const server = createServer((request, response) => {
    // The client may leave at any time.
    response.on("error", () => {});
    void answer(request, response).catch(() => response.destroy());
  });
  const port = await listenAnywhere(server);

  return {
    url: `http://127.0.0.1:${port}`,
    get isUp() {
      return isUp;
    },
    get open() {
      return open;
    },
    async kill() {
      if (!isUp) return;
      isUp = false;
      server.closeAllConnections();
      await server[Symbol.asyncDispose]();
    },
    async revive() {
      if (isUp) return;
      server.listen(port, "127.0.0.1");
      await once(server, "listening");
      isUp = true;
    },
  };
}

const completion = z.object({ prompt: z.array(z.number()) });

/** The prompt of a completion request, as text. */
export function readPrompt(body: string): string {
  return o200kHarmony().decode(completion.parse(JSON.parse(body)).prompt);
}

/** The constraint of a completion request, from its field of this name. */
export const structuredOutputs = z
  .object({
    json: z.unknown(),
    json_object: z.boolean(),
    choice: z.array(z.string()),
    grammar: z.string(),
    regex: z.string(),
    structural_tag: z.string(),
  })
  .partial()
  .transform(
    ({
      json,
      choice,
      grammar,
      regex,
      structural_tag: tag,
    }): NonNullable<CompletionRequest["constraint"]> => {
      if (json !== undefined) return { type: "json-schema", schema: JSON.stringify(json) };
      if (choice !== undefined) return { type: "choice", options: choice };
      if (grammar !== undefined) return { type: "grammar", grammar };
      if (regex !== undefined) return { type: "regex", pattern: regex };
      return tag === undefined ? { type: "json-object" } : { type: "structural-tag", tag };
    },
  )
  .optional();

/** A vLLM server's information about itself. */
export function toServerInfo(path: string | undefined): string {
  const models = { data: [{ id: "openai/gpt-oss-20b", max_model_len: 131_072 }] };
  return JSON.stringify(path === "/v1/models" ? models : { version: "0.14.1" });
}

export function toFrame(ids: readonly number[], finish: string | null): string {
  const choice = { index: 0, text: "", token_ids: ids, finish_reason: finish };
  return `data: ${JSON.stringify({ choices: [choice] })}\n\n`;
}

export function toVllmLogprobs(
  logprobs: NonNullable<Extract<EngineEvent, { type: "ids" }>["logprobs"]>,
) {
  const nameOf = (id: TokenId) => `token_id:${id}`;
  return {
    tokens: logprobs.map(({ id }) => nameOf(id)),
    token_logprobs: logprobs.map(({ logprob }) => logprob),
    top_logprobs: logprobs.map(({ top }) =>
      Object.fromEntries(top.map(({ id, logprob }) => [nameOf(id), logprob])),
    ),
  };
}
