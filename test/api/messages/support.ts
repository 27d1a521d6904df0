/** Messages requests for tests: encrypted texts by name, and answers in the notation of the cases. */
import { hash } from "node:crypto";
import * as z from "zod";
import { appOf } from "../../helpers/app.ts";
import { testSettings } from "../../helpers/gateway.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";
import { analysisIn } from "../../helpers/tool-loop.ts";

export const MODEL = "openai/gpt-oss-20b";

/** A key for the setting `sealingKeys`. */
export const SEALING_KEY = Buffer.alloc(32, "k").toString("base64url");

const TOOL = { name: "step", input_schema: { type: "object" } };
const HELLO = { role: "user", content: "Hello" };

/** Sends messages of a tenant to an application with the key, whose model writes this output. */
async function ask(output: string, messages: readonly object[], tenant = "anonymous") {
  const keys = [{ name: tenant, sha256: hash("sha256", tenant) }];
  const engine = scriptedEngine([output]);
  const app = appOf(
    testSettings({ sealingKeys: [SEALING_KEY], ...(tenant !== "anonymous" && { keys }) }),
    [{ id: MODEL, engine }],
    {},
  );
  const thinking = { type: "enabled", budget_tokens: 1024 };
  const body = { model: MODEL, max_tokens: 2000, thinking, tools: [TOOL], messages };
  const response = await app.request("/v1/messages", post(body, { "x-api-key": tenant }));
  return { reply: thinkingReply.safeParse(await response.json()).data, engine };
}

const thinkingReply = z.object({
  content: z.tuple([z.looseObject({ signature: z.string() })], z.unknown()),
});

/** The signature of thinking with this text. */
export async function seal(text: string, tenant?: string): Promise<string> {
  const output = `<|channel|>analysis<|message|>${text}<|end|><|start|>assistant<|channel|>final<|message|>Yes.<|return|>`;
  const { reply } = await ask(output, [HELLO], tenant);
  if (reply === undefined) throw new Error("the thinking has no signature");
  return reply.content[0].signature;
}

/** The thinking that a prompt has of a signature; undefined if it cannot be decrypted. */
export async function unseal(sealed: string): Promise<string | undefined> {
  const { engine } = await ask("<|channel|>final<|message|>Yes.<|return|>", [
    HELLO,
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "", signature: sealed },
        { type: "tool_use", id: "call_1", name: TOOL.name, input: {} },
      ],
    },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "call_1", content: "ok" }] },
  ]);
  return analysisIn(engine.prompts[0])[0];
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
