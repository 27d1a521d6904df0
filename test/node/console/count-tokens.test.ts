import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { createEngine } from "../../../src/index.ts";
import { startGateway } from "../../../src/node/index.ts";
import { startEngineServer } from "../../helpers/engine-server.ts";

const answered = z.object({ usage: z.object({ completion_tokens: z.number() }) });

test.each(["vllm", "demo"] as const)(
  "the tokens of an answer from %s are counted once",
  async (engine) => {
    const server =
      engine === "vllm"
        ? await startEngineServer(createEngine("demo", { model: "demo" }))
        : undefined;
    if (server) onTestFinished(() => server.close());
    let counted = 0;
    // Only the command counts tokens: the option is missing from the public type.
    const serving = { environment: {}, onTokens: (tokens: number) => (counted += tokens) };
    const options = { port: 0, log: "silent", engine, ...(server && { url: server.url }) } as const;
    const gateway = await startGateway(options, serving);
    onTestFinished(() => gateway.close());
    const response = await fetch(`${gateway.baseUrl}/chat/completions`, {
      method: "POST",
      body: JSON.stringify({ messages: [{ role: "user", content: "Hello!" }] }),
    });
    const { usage } = answered.parse(await response.json());
    expect(counted).toBe(usage.completion_tokens);
  },
);
