/** Writes the body of a message as text. */
import type { ContentPart, Message, Role } from "./conversation.ts";
import { developerText } from "./developer-message.ts";
import { HarmonyRenderError } from "./render-error.ts";
import { systemText } from "./system-message.ts";

/**
 * Returns the whole body. `hasFunctions`: the result of {@link offersFunctions} for the conversation, which
 * the system message mentions.
 *
 * @example
 * ```ts
 * import { bodyText } from "harmony-gateway/harmony";
 *
 * const content = [{ type: "developer" as const, instructions: "Be brief." }];
 * bodyText({ role: "developer", content }, false); // => "# Instructions\n\nBe brief."
 * ```
 */
export function bodyText(message: Message, hasFunctions: boolean): string {
  return contentParts(message)
    .map((part) => partText(part, message.role, hasFunctions))
    .join("");
}

/**
 * Whether any developer content in the conversation has a function under the key `functions`.
 *
 * @example
 * ```ts
 * import { offersFunctions } from "harmony-gateway/harmony";
 *
 * offersFunctions([{ role: "user", content: "Hi" }]); // => false
 * ```
 */
export function offersFunctions(messages: readonly Message[]): boolean {
  return messages.some(
    ({ content }) =>
      typeof content !== "string" &&
      content.some(
        (part) =>
          part.type === "developer" &&
          part.namespaces?.findLast(({ key }) => key === "functions")?.functions.length,
      ),
  );
}

export function contentParts({ content }: Message): readonly ContentPart[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

export function partText(part: ContentPart, role: Role, hasFunctions: boolean): string {
  if (part.type === "text") return part.text;
  if (part.type !== role) {
    throw new HarmonyRenderError(
      `misplaced-${part.type}-content`,
      `Content of type ${part.type} belongs in ${part.type} messages, not in a ${role} message`,
    );
  }
  return part.type === "system" ? systemText(part, hasFunctions) : developerText(part);
}
