/** Images and files in tool results and in messages. */
import { describe, expect, test } from "vitest";
import { createBrowsingApp } from "../helpers/browsing-app.ts";
import { CONTENT_PARTS } from "../helpers/content-parts.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";
import { MODEL } from "./clients.ts";

const ANSWER = "<|channel|>final<|message|>Done.<|return|>";
const IMAGE_URL = "data:image/png;base64,AA==";

/** The text that the model reads in place of media. */
const NOTES = {
  image: "[image: this model cannot see images]",
  file: "[document: this model cannot read documents of this type]",
} as const;

/** A conversation in which a tool's result has these parts, and one in which the user's message has them. */
const APIS = [
  {
    ...CONTENT_PARTS.chat,
    parts: {
      image: { type: "image_url", image_url: { url: IMAGE_URL } },
      file: { type: "file", file: { file_data: "AA==", filename: "a.pdf" } },
    },
    text: (text: string) => ({ type: "text", text }),
    fields: { result: "messages[2].content[1].type", message: "messages[0].content[1].type" },
    inMessageByDefault: "refuse",
  },
  {
    ...CONTENT_PARTS.responses,
    parts: {
      image: { type: "input_image", image_url: IMAGE_URL },
      file: { type: "input_file", file_data: "AA==", filename: "a.pdf" },
    },
    text: (text: string) => ({ type: "input_text", text }),
    fields: { result: "input[2].output[1].type", message: "input[0].content[1].type" },
    inMessageByDefault: "refuse",
  },
  {
    ...CONTENT_PARTS.messages,
    parts: {
      image: { type: "image", source: { type: "url", url: IMAGE_URL } },
      file: { type: "document", source: { type: "base64", media_type: "a/b", data: "AA==" } },
    },
    text: (text: string) => ({ type: "text", text }),
    fields: {
      result: "messages[2].content[0].content[1].type",
      message: "messages[0].content[1].type",
    },
    inMessageByDefault: "placeholder",
  },
] as const;

const KINDS = ["image", "file"] as const;

describe.each(APIS)("$name", ({ path, parts, text, inResult, inMessage, fields, ...api }) => {
  async function send(body: object, mediaInput?: "refuse" | "placeholder") {
    const engine = scriptedEngine([ANSWER]);
    const settings = mediaInput === undefined ? {} : { mediaInput };
    const { post } = createBrowsingApp({ engine, toolbox: {}, settings });
    const response = await post(path, { model: MODEL, ...body });
    return { status: response.status, reply: await response.text(), prompt: engine.prompts[0] };
  }

  /** The message, as JSON. */
  function refusal(field: string, kind: (typeof KINDS)[number]): string {
    const { type } = parts[kind];
    const noun = path === "/v1/messages" ? "blocks" : "parts";
    const message = `${field}: the model is text-only and cannot read "${type}" ${noun}`;
    return `"message":${JSON.stringify(message)}`;
  }

  test.each(KINDS)("a note stands for the %s in a tool's result", async (kind) => {
    for (const media of [undefined, "placeholder"] as const) {
      const { status, prompt } = await send(inResult([text("Here: "), parts[kind]]), media);
      expect(status).toBe(200);
      const result = prompt?.split("<|start|>").at(-2);
      expect(result).toContain("functions.f");
      expect(result).toContain("Here: ");
      expect(result).toContain(NOTES[kind]);
    }
  });

  test.each(KINDS)("a tool's result with nothing but a %s is that note", async (kind) => {
    const { prompt } = await send(inResult([parts[kind]]));
    expect(prompt?.split("<|start|>").at(-2)).toContain(`<|message|>${NOTES[kind]}<|end|>`);
  });

  test.each(KINDS)("the setting refuses the %s in a tool's result too", async (kind) => {
    const { status, reply, prompt } = await send(inResult([text("Here: "), parts[kind]]), "refuse");
    expect([status, prompt]).toEqual([400, undefined]);
    expect(reply).toContain(refusal(fields.result, kind));
  });

  test.each(KINDS)("the %s in a user's message is treated as the setting says", async (kind) => {
    const body = inMessage([text("Here: "), parts[kind]]);
    const noted = await send(body, "placeholder");
    expect([noted.status, noted.prompt]).toEqual([200, expect.stringContaining(NOTES[kind])]);
    const refused = await send(body, "refuse");
    expect([refused.status, refused.prompt]).toEqual([400, undefined]);
    expect(refused.reply).toContain(refusal(fields.message, kind));
    const byDefault = await send(body);
    expect(byDefault.status).toBe(api.inMessageByDefault === "refuse" ? 400 : 200);
  });
});

test.each([
  ["input_audio", "[audio: this model cannot hear audio]"],
  ["video_url", "[video: this model cannot see videos]"],
  ["new_kind", "[content: this model reads only text]"],
])("a part of type %s in a tool's result has a note as well", async (type, note) => {
  const engine = scriptedEngine([ANSWER]);
  const { post } = createBrowsingApp({ engine, toolbox: {} });
  const [api] = APIS;
  const { status } = await post(api.path, { model: MODEL, ...api.inResult([{ type }]) });
  expect(status).toBe(200);
  expect(engine.prompts[0]).toContain(note);
});
