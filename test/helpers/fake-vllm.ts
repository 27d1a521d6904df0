/** A vLLM server as a gateway in another process sees it: what it writes is a function of the prompt. */
import { type FakeUpstream, startFakeUpstream } from "./fake-upstream.ts";
import { spelledIds } from "./spelled.ts";
import { readPrompt, toFrame, toServerInfo } from "./vllm-server.ts";

export interface FakeVllm {
  readonly url: string;
  /** The prompts as text, those of probes left out. */
  readonly prompts: string[];
  close(): Promise<void>;
}

/** `write` gives spelled Harmony, ended by a stop token. */
export async function startFakeVllm(write: (prompt: string) => string): Promise<FakeVllm> {
  const prompts: string[] = [];
  const upstream: FakeUpstream = await startFakeUpstream((exchange) => {
    if (exchange.path !== "/v1/completions") {
      return exchange.reply(200, toServerInfo(exchange.path));
    }
    const prompt = readPrompt(exchange.body);
    // The gateway's probe asks for one token after a prompt of its own.
    const probing = !prompt.startsWith("<|start|>system");
    if (!probing) prompts.push(prompt);
    const ids = spelledIds(probing ? "<|return|>" : write(prompt));
    exchange.begin();
    exchange.end(`${toFrame(ids, null)}${toFrame([], "stop")}data: [DONE]\n\n`);
  });
  return { url: upstream.url, prompts, close: () => upstream.close() };
}
