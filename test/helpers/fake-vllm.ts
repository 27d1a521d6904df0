/** A fake vLLM server for a gateway in another process: its output is a function of the prompt. */
import { type FakeUpstream, startFakeUpstream } from "./fake-upstream.ts";
import { spelledIds } from "./spelled.ts";
import { readPrompt, toFrame, toServerInfo } from "./vllm-server.ts";

export interface FakeVllm {
  readonly url: string;
  /** The prompts as text, without those of probes. */
  readonly prompts: string[];
  close(): Promise<void>;
}

/** `write` returns spelled Harmony, ended by a stop token. */
export async function startFakeVllm(write: (prompt: string) => string): Promise<FakeVllm> {
  const prompts: string[] = [];
  const upstream: FakeUpstream = await startFakeUpstream((exchange) => {
    if (exchange.path !== "/v1/completions") {
      return exchange.reply(200, toServerInfo(exchange.path));
    }
    const prompt = readPrompt(exchange.body);
    // The gateway's probe requests one token after a prompt of its own.
    const probing = !prompt.startsWith("<|start|>system");
    if (!probing) prompts.push(prompt);
    const ids = spelledIds(probing ? "<|return|>" : write(prompt));
    exchange.begin();
    exchange.end(`${toFrame(ids, null)}${toFrame([], "stop")}data: [DONE]\n\n`);
  });
  return { url: upstream.url, prompts, close: () => upstream.close() };
}
