/** Recorded turns with images and files, which are run again without a vision model. */
import { expect, test } from "vitest";
import { CONTENT_PARTS } from "../helpers/content-parts.ts";
import { replay } from "../helpers/command-io.ts";
import { createRecordedApp } from "../helpers/recorded-app.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";
import { pngOf } from "../helpers/png.ts";
import { startVisionServer } from "../helpers/vision-server.ts";

const MODEL = "openai/gpt-oss-20b";
const FINAL = "<|channel|>final<|message|>A cat.<|return|>";
const URL = `data:image/png;base64,${pngOf(2, 2)}`;
const FILE = `data:text/plain;base64,${Buffer.from("Notes.").toString("base64")}`;

const PARTS = [
  { ...CONTENT_PARTS.chat, image: { type: "image_url", image_url: { url: URL } } },
  { ...CONTENT_PARTS.responses, image: { type: "input_image", image_url: URL } },
  {
    ...CONTENT_PARTS.messages,
    image: { type: "image", source: { type: "url", url: URL } },
  },
];

test.each(PARTS)("$name: a described image is in the prompt again", async (api) => {
  const { settings } = await startVisionServer(() => "A cat.");
  const app = createRecordedApp({ engine: scriptedEngine([FINAL]), settings });
  const body = { model: MODEL, stream: true, ...api.inMessage([api.image]) };
  await (await app.post(api.path, body)).text();
  const [record] = await app.records();
  const comparison = await replay(record);
  expect(comparison.differences).toEqual([]);
  expect(comparison.same).toEqual(expect.arrayContaining(["prompt", "parts", "answer"]));
  expect(comparison.skipped).toEqual([
    "conversation: what another model or program read in its images and files is not read again; the recorded text was used",
  ]);
});

test("a file of text is read again", async () => {
  const app = createRecordedApp({ engine: scriptedEngine([FINAL]) });
  const file = { type: "file", file: { filename: "a.txt", file_data: FILE } };
  const body = { model: MODEL, ...CONTENT_PARTS.chat.inMessage([file]) };
  await (await app.post(CONTENT_PARTS.chat.path, body)).text();
  const [record] = await app.records();
  const { differences, same } = await replay(record);
  expect([differences, same.includes("conversation")]).toEqual([[], true]);
});
