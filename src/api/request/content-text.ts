/** The text of content, and the handling of images, audio and files in it: gpt-oss reads text only. */
import { refusal } from "../errors.ts";

/** Handling of media: replaced by a note, or answered with 400. */
export type MediaRule = "placeholder" | "refuse";

export interface MediaRules {
  readonly inMessages: MediaRule;
  /** Clients repeat a tool's result in every later request, so that a refusal would end the session. */
  readonly inResults: MediaRule;
}

/** @param setting `mediaInput`. Absent: media in results become notes, and the API's default applies to messages. */
export function toMediaRules(setting: MediaRule | undefined, inMessages: MediaRule): MediaRules {
  return { inMessages: setting ?? inMessages, inResults: setting ?? "placeholder" };
}

/** Notes that replace parts, so that the model can answer that it has not seen them. */
const NOTES: readonly (readonly [RegExp, string])[] = [
  [/image/, "[image: this model cannot see images]"],
  [/audio/, "[audio: this model cannot hear audio]"],
  [/video/, "[video: this model cannot see videos]"],
  [/file|document/, "[document: this model cannot read documents of this type]"],
];
const OTHER = "[content: this model reads only text]";

/** The note for a part of this type. */
export function mediaNote(type: string): string {
  return NOTES.find(([pattern]) => pattern.test(type))?.[1] ?? OTHER;
}

/** The note, or a {@link RequestError} if media are refused. `param`: the part's type. */
export function noteOrRefuse(
  type: string,
  { mediaRule, param, noun }: { mediaRule: MediaRule; param: string; noun: "parts" | "blocks" },
): string {
  if (mediaRule === "placeholder") return mediaNote(type);
  const problem = `the model is text-only and cannot read ${JSON.stringify(type)} ${noun}`;
  throw refusal(param, problem);
}

interface ContentPart {
  readonly type: string;
  readonly text?: string | null | undefined;
  readonly refusal?: string | null | undefined;
}

/**
 * Joins text parts without a separator. Throws a `RequestError` for media if they are refused.
 *
 * @param param the content's field
 */
export function contentText(
  content: string | readonly ContentPart[] | null | undefined,
  param: string,
  mediaRule: MediaRule,
): string {
  if (typeof content === "string") return content;
  let text = "";
  for (const [index, part] of (content ?? []).entries()) {
    switch (part.type) {
      // Clients send each of these types in messages of any role.
      case "input_text":
      case "output_text":
      case "text":
        text += part.text ?? "";
        break;
      case "refusal":
        text += part.refusal ?? "";
        break;
      default:
        text += noteOrRefuse(part.type, {
          mediaRule,
          param: `${param}[${index}].type`,
          noun: "parts",
        });
    }
  }
  return text;
}
