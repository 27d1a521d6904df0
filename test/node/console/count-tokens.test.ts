import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { createEngine } from "../../../src/index.ts";
import { serveGateway } from "../../../src/node/server/serve.ts";
import { createLog } from "../../../src/telemetry/log.ts";
import { testSettings } from "../../helpers/gateway.ts";
import { startEngineServer } from "../../helpers/engine-server.ts";

const answered = z.object({ usage: z.object({ completion_tokens: z.number() }) });

/** Ids from vLLM's wire format, and whatever the demo engine gives. */
test.each(["vllm", "demo"] as const)(
  "the tokens of an answer from %s are counted once",
  async (engine) => {
    const server =
      engine === "vllm"
        ? await startEngineServer(createEngine("demo", { model: "demo" }))
        : undefined;
    if (server) onTestFinished(() => server.close());
    let counted = 0;
    const settings = testSettings({ port: 0, engine, ...(server && { url: server.url }) });
    const gateway = await serveGateway(settings, {
      log: createLog({ level: "silent", now: Date.now, write: () => {} }),
      onTokens: (tokens) => (counted += tokens),
    });
    onTestFinished(() => gateway.close());
    const response = await fetch(`${gateway.baseUrl}/chat/completions`, {
      method: "POST",
      body: JSON.stringify({ messages: [{ role: "user", content: "Hello!" }] }),
    });
    const { usage } = answered.parse(await response.json());
    expect(counted).toBe(usage.completion_tokens);
  },
);
