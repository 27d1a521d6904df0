import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { z } from "zod";
import { START } from "../../src/harmony/index.ts";
import { isSpecial, o200kHarmony } from "../../src/tokenizer/index.ts";
import { partOf, readIds } from "./parse-cases.ts";

const messageSchema = z.object({
  role: z.string(),
  recipient: z.string().optional(),
  channel: z.string().optional(),
  content: z.string(),
});
const lineSchema = z.object({
  id: z.string(),
  role: z.string().nullable(),
  token_ids: z.array(z.number()),
  strict: z.object({ messages: z.array(messageSchema), error: z.string().nullable() }),
});
type Line = z.infer<typeof lineSchema>;

const path = new URL("../fixtures/harmony-cases/harmony-parse.jsonl", import.meta.url);
const lines = readFileSync(path, "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => lineSchema.parse(JSON.parse(line)));

const prefix = [START, ...o200kHarmony().encode("assistant")];
const startsAsAssistant = ({ role, token_ids: ids }: Line) =>
  role === "assistant" || prefix.every((id, index) => ids[index] === id);

/** The reference accepts much invalid output; these cases it reads as intended. */
const wellFormed = lines.filter(
  (line) =>
    line.strict.error === null &&
    startsAsAssistant(line) &&
    // An unknown id takes the rest of its message with it there.
    line.token_ids.every((id) => id < 199_998 || isSpecial(id)) &&
    line.strict.messages.every(
      ({ role, recipient, channel, content }) =>
        role === "assistant" &&
        /^(?:analysis|commentary|final)?$/.test(channel ?? "") &&
        /^(?:(?:functions|browser)\.\w+|python|lookup_weather)?$/.test(recipient ?? "") &&
        !content.includes("<|"),
    ),
);

test("enough of the reference's lines are well-formed", () => {
  expect([lines.length, wellFormed.length]).toEqual([126, 37]);
});

test.each(wellFormed)("$id reads as openai/harmony 0.0.8 reads it", (line) => {
  const ids = line.role === null ? line.token_ids.slice(prefix.length) : line.token_ids;
  const { messages } = line.strict;
  const toolNames = messages.flatMap(({ recipient }) => recipient?.replace("functions.", "") ?? []);
  expect(readIds(ids, "stop", { toolNames }).parts).toEqual(messages.map(partOf));
});
