/** Requests descriptions of images from the operator's vision model, on any server of Chat Completions. */
import * as z from "zod";
import { EngineError } from "../../engines/engine-error.ts";
import { readAnswer } from "../../engines/server-response.ts";
import { readServerUrl } from "../../engines/server-url.ts";
import type { Transport } from "../../engines/transport.ts";
import { lazy } from "../../lazy.ts";
import { splitThought } from "../request/thought-tag.ts";

export interface VisionModel {
  readonly name: string;
  /** Rejects with an {@link EngineError}, or with the signal's reason. */
  describe(image: VisionImage, signal: AbortSignal): Promise<Description>;
}

export interface VisionImage {
  readonly mediaType: string;
  readonly base64: string;
  readonly isBrief: boolean;
}

export interface Description {
  readonly text: string;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

export interface VisionOptions {
  readonly url: string;
  readonly model: string;
  readonly key: string | undefined;
  readonly connectTimeoutMs: number;
  readonly transport: Transport;
}

/**
 * One prompt for all images: if it contained the user's question, each turn would have other descriptions, and miss the
 * engine's prefix cache.
 */
const FULL =
  "Describe this image for a reader who cannot see it. First write down all text in it, word for word. Then describe the layout, " +
  "then what is shown. Of a screenshot, name the controls with their state and position. Write only the description.";
const BRIEF = "Describe this image in two or three sentences for a reader who cannot see it.";

/** Part of the cache key of descriptions: raised when a prompt or the form of the text changes. */
export const PROMPT_VERSION = "2";

const MAX_TOKENS = { full: 2048, brief: 256 };
/** Maximum length of a description, in characters; the rest of the server's text is dropped. */
const MAX_LENGTH = 16_000;
const CUT_OFF = "\n[The rest of the description is missing: it was too long.]";

export function createVisionModel(options: VisionOptions): VisionModel {
  const { model, key, connectTimeoutMs, transport } = options;
  const { base, authorization } = readServerUrl(options.url, key);
  const identity = { name: `the vision model at ${base}`, secrets: key === undefined ? [] : [key] };
  const headers = {
    "content-type": "application/json",
    ...(authorization !== undefined && { authorization }),
  };
  return {
    name: model,
    async describe(image, signal) {
      const response = await transport({
        method: "POST",
        url: `${base}/v1/chat/completions`,
        headers,
        body: JSON.stringify(toBody(model, image)),
        connectTimeoutMs,
        signal,
      });
      return toDescription(await readAnswer(identity, response), identity.name);
    },
  };
}

function toBody(model: string, { mediaType, base64, isBrief }: VisionImage): object {
  const url = `data:${mediaType};base64,${base64}`;
  return {
    model,
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: isBrief ? BRIEF : FULL },
          { type: "image_url", image_url: { url } },
        ],
      },
    ],
    max_tokens: isBrief ? MAX_TOKENS.brief : MAX_TOKENS.full,
    temperature: 0,
    stream: false,
  };
}

const tokens = lazy(() => z.int().min(0).catch(0));

const completion = lazy(() =>
  z.object({
    choices: z.tuple(
      [
        z.object({
          finish_reason: z.string().nullish().catch(null),
          message: z.object({ content: z.string() }),
        }),
      ],
      z.unknown(),
    ),
    usage: z
      .object({ prompt_tokens: tokens(), completion_tokens: tokens() })
      .catch({ prompt_tokens: 0, completion_tokens: 0 }),
  }),
);

function toDescription(answer: unknown, name: string): Description {
  const parsed = completion().safeParse(answer).data;
  const text = splitThought(parsed?.choices[0].message.content ?? "").text.trim();
  if (parsed === undefined || text === "") {
    throw new EngineError("server-error", `${name} answered without a description.`);
  }
  const isCut = parsed.choices[0].finish_reason === "length" || text.length > MAX_LENGTH;
  return {
    text: text.slice(0, MAX_LENGTH) + (isCut ? CUT_OFF : ""),
    promptTokens: parsed.usage.prompt_tokens,
    completionTokens: parsed.usage.completion_tokens,
  };
}
