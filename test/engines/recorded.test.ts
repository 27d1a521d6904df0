/** Streams of real servers, recorded by `proof/real/record.ts`: the adapter's output must be the same as then. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createEngine, ENGINE_KINDS } from "../../src/index.ts";
import { complete, jsonAnswer, requestOf, scriptTransport, textOf } from "./support.ts";
import { promptOf } from "../helpers/spelled.ts";

const FIXTURES = join(import.meta.dirname, "../fixtures/recorded");

const recording = z.object({
  about: z.object({ engine: z.enum(ENGINE_KINDS), version: z.string() }),
  recording: z.record(
    z.string(),
    z.object({
      exchanges: z.array(
        z.object({
          request: z.string(),
          status: z.int(),
          contentType: z.string(),
          file: z.string(),
        }),
      ),
      outcome: z.looseObject({
        content: z.string().optional(),
        error: z.string().optional(),
        reason: z.string().optional(),
        usage: z.record(z.string(), z.int()).optional(),
        logprobs: z.int().optional(),
      }),
    }),
  ),
});

/** The ids of the prompt in a recorded request. Long ones are cut: they were refused. */
function sentIds(request: string): number[] {
  const list = /"(?:prompt|input_ids)":\[([\d,]*)/.exec(request)?.[1] ?? "";
  return list.split(",").map(Number);
}

for (const folder of readdirSync(FIXTURES)) {
  const read = (file: string) => readFileSync(join(FIXTURES, folder, file));
  const { about, recording: scenarios } = recording.parse(
    JSON.parse(read("recording.json").toString()),
  );

  describe(`${about.engine} ${about.version}`, () => {
    test.each(Object.entries(scenarios).filter(([name]) => name !== "probe"))(
      "%s",
      async (_, { exchanges: [exchange], outcome }) => {
        if (exchange === undefined) throw new Error("the scenario asked nothing");
        const { request, status, contentType, file } = exchange;
        const answer = contentType.includes("event-stream")
          ? { status, headers: { "content-type": contentType }, pieces: [read(file)] }
          : jsonAnswer(read(file).toString(), status);
        const engine = createEngine(about.engine, {
          url: "http://engine:8000",
          model: "openai/gpt-oss-20b",
          transport: scriptTransport(() => answer),
        });
        const asked = {
          prompt: promptOf(sentIds(request)),
          ...((outcome.logprobs ?? 0) > 0 && { topLogprobs: 2 }),
        };
        const found = await complete(engine, requestOf(asked));
        const { logprobs = [], finish, error } = found;
        expect({
          content: error ? undefined : textOf(found),
          logprobs: error ? undefined : logprobs.length,
          reason: finish?.reason,
          usage: finish?.usage,
          error: error?.kind,
        }).toEqual({
          content: outcome.content,
          logprobs: outcome.logprobs,
          reason: outcome.reason,
          usage: outcome.usage,
          error: outcome.error,
        });
      },
    );
  });
}
