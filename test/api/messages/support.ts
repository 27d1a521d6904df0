/** Messages requests for tests: encrypted texts by name, and answers in the notation of the cases. */
import { createReasoningCipher } from "../../../src/store/reasoning-cipher.ts";

export const MODEL = "openai/gpt-oss-20b";

/** A key for the setting `sealingKeys`. */
export const SEALING_KEY = Buffer.alloc(32, "k").toString("base64url");

const cipher = createReasoningCipher({
  secrets: [SEALING_KEY],
  randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
});

export function seal(text: string, tenant = "anonymous"): Promise<string> {
  return cipher.seal(text, { tenant, purpose: "reasoning" });
}

/** The decrypted signature; undefined if it cannot be decrypted. */
export async function unseal(sealed: string, tenant = "anonymous"): Promise<string | undefined> {
  const opened = await cipher.open(sealed, { tenant, purpose: "reasoning" });
  return opened.opened ? opened.text : undefined;
}

/** A valid encrypted text with its last character but one changed. */
export async function tamperedSeal(text: string): Promise<string> {
  const sealed = await seal(text);
  const changed = sealed.at(-2) === "A" ? "B" : "A";
  return sealed.slice(0, -2) + changed + sealed.slice(-1);
}

/** The body of a POST to this API. */
export function post(body: object, headers: Record<string, string> = {}): RequestInit {
  return {
    method: "POST",
    headers: { "content-type": "application/json", "anthropic-version": "2023-06-01", ...headers },
    body: JSON.stringify(body),
  };
}

export interface StreamEvent {
  readonly event: string;
  readonly data: Record<string, unknown>;
}

/** The events of a stream. Throws if a frame is not as the SDK requires. */
export function readEvents(text: string): StreamEvent[] {
  if (!text.endsWith("\n\n")) throw new Error("the stream ends within a frame");
  return (
    text
      .slice(0, -2)
      .split("\n\n")
      // Comments are not events.
      .filter((frame) => !frame.startsWith(":"))
      .map((frame) => {
        const [, event = "", data = ""] = /^event: (\w+)\ndata: (.+)$/.exec(frame) ?? [];
        const parsed: Record<string, unknown> = JSON.parse(data);
        if (parsed["type"] !== event)
          throw new Error(`a frame of another type than its data: ${frame}`);
        return { event, data: parsed };
      })
  );
}
