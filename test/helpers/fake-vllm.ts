/** A vLLM server as a gateway in another process sees it: what it writes is a function of the prompt. */
import { z } from "zod";
import { o200kHarmony } from "../../src/tokenizer/index.ts";
import { type FakeExchange, type FakeUpstream, startFakeUpstream } from "./fake-upstream.ts";
import { spelledIds } from "./spelled.ts";

export interface FakeVllm {
  readonly url: string;
  /** The prompts as text, those of probes left out. */
  readonly prompts: string[];
  close(): Promise<void>;
}

const MODEL = "openai/gpt-oss-20b";

/** `write` gives spelled Harmony, ended by a stop token. */
export async function startFakeVllm(write: (prompt: string) => string): Promise<FakeVllm> {
  const prompts: string[] = [];
  const upstream: FakeUpstream = await startFakeUpstream((exchange) => {
    if (exchange.path !== "/v1/completions") return answerQuestion(exchange);
    const { prompt: ids } = z
      .object({ prompt: z.array(z.number()) })
      .parse(JSON.parse(exchange.body));
    const prompt = o200kHarmony().decode(ids);
    // The gateway's probe asks for one token after a prompt of its own.
    const probing = !prompt.startsWith("<|start|>system");
    if (!probing) prompts.push(prompt);
    const frame = (choice: object) =>
      `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`;
    exchange.begin();
    exchange.end(
      frame({
        text: "",
        token_ids: spelledIds(probing ? "<|return|>" : write(prompt)),
        finish_reason: null,
      }) +
        frame({ text: "", token_ids: [], finish_reason: "stop" }) +
        "data: [DONE]\n\n",
    );
  });
  return { url: upstream.url, prompts, close: () => upstream.close() };
}

function answerQuestion(exchange: FakeExchange): void {
  const models = { data: [{ id: MODEL, max_model_len: 131_072 }] };
  exchange.reply(
    200,
    JSON.stringify(exchange.path === "/v1/models" ? models : { version: "0.14.1" }),
  );
}
