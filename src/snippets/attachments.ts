/** Pictures and documents in the content parts of the three APIs. */
import type { Attachment, Body, ComposedMessage } from "./composed.ts";
import { isObject, members, objects, text } from "./read.ts";

type UserMessage = Extract<ComposedMessage, { role: "user" }>;

/** The content of a message: a string if there is only text, otherwise parts. */
export function toContent(
  { text: said, files = [] }: UserMessage,
  textType: string,
  toPart: (file: Attachment) => Body,
): string | Body[] {
  if (files.length === 0) return said;
  return [...(said === "" ? [] : [{ type: textType, text: said }]), ...files.map(toPart)];
}

export function isDocument({ url }: Attachment): boolean {
  return url.startsWith("data:application/");
}

export function toChatPart(file: Attachment): Body {
  const { name, url } = file;
  if (isDocument(file)) return { type: "file", file: { filename: name, file_data: url } };
  return { type: "image_url", image_url: { url } };
}

export function toResponsesPart(file: Attachment): Body {
  const { name, url } = file;
  if (isDocument(file)) return { type: "input_file", filename: name, file_data: url };
  return { type: "input_image", image_url: url };
}

export function toMessagesPart(file: Attachment): Body {
  const [, media_type, data] = /^data:([^;,]+);base64,(.*)$/s.exec(file.url) ?? [];
  const source =
    data === undefined ? { type: "url", url: file.url } : { type: "base64", media_type, data };
  return isDocument(file)
    ? { type: "document", title: file.name, source }
    : { type: "image", source };
}

/** The user message of any API. Parts of other types are left out. */
export function readMessage(content: unknown, said: string): UserMessage {
  const files = objects(content).flatMap((part) => readPart(part) ?? []);
  return { role: "user", text: said, ...(files.length > 0 && { files }) };
}

function readPart(part: Body): Attachment | undefined {
  const file = isObject(part["file"]) ? part["file"] : part;
  const name = text(file["filename"]) ?? text(part["title"]);
  const image = part["image_url"];
  const url =
    text(file["file_data"]) ?? text(image) ?? text(members(image)["url"]) ?? readSource(part);
  return url === undefined ? undefined : { name: name ?? "attached", url };
}

function readSource(part: Body): string | undefined {
  if (part["type"] !== "image" && part["type"] !== "document") return undefined;
  const source = members(part["source"]);
  const data = text(source["data"]);
  if (source["type"] !== "base64" || data === undefined) return text(source["url"]);
  return `data:${text(source["media_type"]) ?? ""};base64,${data}`;
}
