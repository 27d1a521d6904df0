/** Failures found by running clients, and their fixes in the gateway. The programs in `clients.json` check it. */
import type { Fault } from "./expectation.ts";

interface Mended {
  readonly client: string;
  /** Its program below `proof/real`. */
  readonly script: string;
  readonly failed: string;
  readonly fault: Fault;
  readonly since: string;
}

export const MENDED: readonly Mended[] = [
  {
    client: "gptme",
    script: "python/gptme_client.py",
    failed:
      "it sends reasoning back as `<think>` in the message's text, so that a thought stood twice in the prompt, and for good",
    fault: "client",
    since: "`<think>` before a message's text is read as reasoning, in every API",
  },
  {
    client: "async-openai",
    script: "rust/src/main.rs",
    failed: "it cannot read an integer as `error.code`",
    fault: "specifications differ",
    since: "a string below `/v1`, as OpenAI's types have it",
  },
  {
    client: "openai-java",
    script: "java/Client.java",
    failed: "it cannot read an integer as `error.code`",
    fault: "specifications differ",
    since: "a string below `/v1`, as OpenAI's types have it",
  },
  {
    client: "`@openrouter/sdk`",
    script: "javascript/openrouter.mjs",
    failed: "it cannot read a string as `error.code`",
    fault: "specifications differ",
    since: "an integer below `/api/v1`, which is its base URL",
  },
  {
    client: "`@ai-sdk/deepseek`",
    script: "javascript/deepseek.mjs",
    failed: "it reads `reasoning_content` alone, so that no reasoning was shown",
    fault: "specifications differ",
    since: "`reasoning_content` repeats `reasoning` by default",
  },
];
