/**
 * Gaps that the docs admit, as data. A gap that closes fails here, so that its sentence in the docs goes with it; so does a
 * sentence that changes.
 */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as z from "zod";
import { createBrowsingApp, MODEL } from "./helpers/browsing-app.ts";
import { scriptedEngine } from "./helpers/scripted-engine.ts";

const gapSchema = z.strictObject({
  gap: z.string(),
  /** The page and the words that admit it. */
  docs: z.string(),
  says: z.string(),
  /** `text`: the server takes prompts as text. */
  engine: z.literal("text").optional(),
  /** What the model writes. */
  script: z.string().default("<|channel|>final<|message|>One.<|return|>"),
  /** Without a body, a GET. */
  request: z.strictObject({ path: z.string(), body: z.looseObject({}).optional() }),
  /** What would be seen without the gap: a status, and expressions for the prompt and the reply. */
  works: z.strictObject({
    status: z.int().optional(),
    prompt: z.string().optional(),
    reply: z.string().optional(),
  }),
});
const gaps = z.array(gapSchema).parse(JSON.parse(readFileSync("test/known-gaps.json", "utf8")));

test.each(gaps)("$gap", async ({ gap, docs, says, engine: kind, script, request, works }) => {
  expect(readFileSync(docs, "utf8")).toContain(says);
  const isText = kind === "text";
  const engine = isText
    ? scriptedEngine([script], { form: "text", capabilities: { idsIn: false } })
    : scriptedEngine([script]);
  const { get, post } = createBrowsingApp({ engine, toolbox: {} });
  const { path, body } = request;
  const response = await (body ? post(path, { model: MODEL, ...body }) : get(path));
  const seen = {
    status: String(response.status),
    prompt: (isText ? engine.requests[0]?.prompt.text() : engine.prompts[0]) ?? "",
    reply: await response.text(),
  };
  const isClosed =
    (works.status === undefined || seen.status === String(works.status)) &&
    matches(seen.prompt, works.prompt) &&
    matches(seen.reply, works.reply);
  const advice = `closed: remove "${gap}" from test/known-gaps.json, and its words from ${docs}`;
  expect(isClosed ? advice : "open").toBe("open");
  // A request that fails for another reason proves nothing.
  expect([200, 400, 404]).toContain(response.status);
  expect(works.status === undefined ? response.status : 200).toBe(200);
});

function matches(text: string, pattern: string | undefined): boolean {
  return pattern === undefined || new RegExp(pattern).test(text);
}
