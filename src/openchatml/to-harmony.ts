/** Converts OpenChatML to a Harmony conversation (HIP-1), and reports losses. */
import type {
  Message as HarmonyMessage,
  ReasoningEffort,
  ToolNamespace,
} from "../harmony/conversation.ts";
import { developerMessage, systemMessage } from "../harmony/messages.ts";
import { BROWSER_NAMESPACE, PYTHON_NAMESPACE } from "../harmony/trained-tools.ts";
import { isCall, member } from "./document.ts";
import type { Document, DocumentHeader, Message } from "./document.ts";

export interface ToHarmonyOptions {
  /**
   * `verbatim`, the default: system and developer texts are unchanged. `prompt`: for gpt-oss. A system
   * message in Harmony's form is put first, with the effort of the header, and other system texts become
   * instructions.
   */
  readonly mode?: "verbatim" | "prompt";
}

export interface HarmonyResult {
  readonly messages: readonly HarmonyMessage[];
  /** The id of the call or reply at the same index: Harmony has no field for it. */
  readonly callIds: readonly (string | undefined)[];
  /** Names of losses, sorted. */
  readonly lossy: readonly string[];
}

/**
 * @example
 * ```ts
 * import { parseOpenChatML, toHarmony } from "harmony-gateway/openchatml";
 *
 * const document = parseOpenChatML("<|start|>assistant<|message|>Hi<|return|>");
 * toHarmony(document).messages; // => [{ role: "assistant", channel: "final", content: "Hi" }]
 * toHarmony(document).lossy; // => ["return"]
 * ```
 */
export function toHarmony(
  { header, messages }: Document,
  { mode = "verbatim" }: ToHarmonyOptions = {},
): HarmonyResult {
  const lossy = new Set<string>();
  const ordered = inOrderOfCalls(messages);
  if (ordered.isChanged) lossy.add("replies-reordered");
  const converted = ordered.messages.map((message) => ({
    message: toHarmonyMessage(message, lossy),
    callId: isCall(message) || message.role === "tool" ? message.callId : undefined,
  }));
  const all = mode === "prompt" ? asPrompt(converted, header, lossy) : converted;
  for (const name of headerLosses(header, mode)) lossy.add(name);
  return {
    messages: all.map(({ message }) => message),
    callIds: all.map(({ callId }) => callId),
    lossy: [...lossy].toSorted(),
  };
}

interface Converted {
  readonly message: HarmonyMessage;
  readonly callId: string | undefined;
}

function toHarmonyMessage(message: Message, lossy: Set<string>): HarmonyMessage {
  const { role, name, to, callId, intent, content, end } = message;
  if (callId !== undefined) lossy.add("call-id");
  if (end === "return") lossy.add("return");
  const channel = toChannel(message, lossy);
  const isPreamble = role === "assistant" && channel === "commentary" && intent === "preamble";
  if (intent !== undefined && (!isPreamble || isCall(message))) lossy.add("intent");
  const recipient = toRecipient(message, to, lossy);
  const contentType = toContentType(message, lossy);
  return {
    role,
    ...(name !== undefined && { name }),
    ...(recipient !== undefined && { recipient }),
    ...(channel !== undefined && { channel }),
    ...(contentType !== undefined && { contentType }),
    content,
  };
}

function toChannel(message: Message, lossy: Set<string>): string | undefined {
  const { role, channel, implicitChannel, intent } = message;
  if (implicitChannel) {
    if (role === "assistant") return "final";
    return role === "tool" ? "commentary" : undefined;
  }
  // Harmony shows commentary without recipient to the user.
  if (
    role === "assistant" &&
    channel === "commentary" &&
    !isCall(message) &&
    intent !== "preamble"
  ) {
    lossy.add("hidden-commentary");
    return "analysis";
  }
  return channel;
}

function toRecipient(
  message: Message,
  to: string | undefined,
  lossy: Set<string>,
): string | undefined {
  if (message.role === "tool") return to ?? "assistant";
  if (to === undefined || to === "all") return undefined;
  // A recipient makes an assistant message a call in Harmony.
  if (message.role === "assistant" && !isCall(message)) {
    lossy.add("to");
    return undefined;
  }
  return to;
}

function toContentType(message: Message, lossy: Set<string>): string | undefined {
  const { constrain, contentType } = message;
  if (constrain === undefined) return contentType;
  if (contentType !== undefined && contentType !== constrain) lossy.add("content-type");
  return `<|constrain|>${constrain}`;
}

/** Harmony matches replies by tool name only, so replies of one tool are sorted in the order of its calls. */
function inOrderOfCalls(messages: readonly Message[]): {
  readonly messages: readonly Message[];
  readonly isChanged: boolean;
} {
  const order = new Map<string, number>();
  for (const message of messages) {
    if (isCall(message) && message.callId !== undefined) order.set(message.callId, order.size);
  }
  const byTool = new Map<string, number[]>();
  for (const [index, { role, name = "", callId = "" }] of messages.entries()) {
    if (role !== "tool" || !order.has(callId)) continue;
    const places = byTool.get(name);
    if (places === undefined) byTool.set(name, [index]);
    else places.push(index);
  }
  const ordered = [...messages];
  let isChanged = false;
  const rank = (index: number) => order.get(messages[index]?.callId ?? "") ?? 0;
  for (const places of byTool.values()) {
    for (const [at, from] of places.toSorted((a, b) => rank(a) - rank(b)).entries()) {
      const [to, reply] = [places[at], messages[from]];
      if (to === undefined || to === from || reply === undefined) continue;
      ordered[to] = reply;
      isChanged = true;
    }
  }
  return { messages: ordered, isChanged };
}

function headerLosses(header: DocumentHeader | null, mode: "verbatim" | "prompt"): string[] {
  return Object.entries(header ?? {}).flatMap(([key, value]) => {
    if (key === "version" || key === "profiles") return [];
    if (key !== "generation_settings" || mode === "verbatim") return [`header.${key}`];
    // `asPrompt` reports these two if it cannot use them.
    return Object.keys(value ?? {})
      .filter((name) => name !== "reasoning_effort" && name !== "builtin_tools")
      .map((name) => `generation_settings.${name}`);
  });
}

/** Marks a system message in Harmony's own form. */
const CHANNEL_LINE = /^# Valid channels:/m;
/** Section headings of Harmony's developer message. */
const DEVELOPER_SECTION = /^# (?:Instructions|Tools|Response Formats)$/m;

function asPrompt(
  converted: readonly Converted[],
  header: DocumentHeader | null,
  lossy: Set<string>,
): Converted[] {
  const hasOwn = converted.some(({ message }) => isSystemInForm(message));
  const rest = converted.flatMap(({ message, callId }): Converted[] => {
    const { role, content } = message;
    const text = typeof content === "string" ? content : "";
    if (isSystemInForm(message) || (role !== "system" && role !== "developer")) {
      return [{ message, callId }];
    }
    if (role === "developer" && DEVELOPER_SECTION.test(text)) return [{ message, callId }];
    if (role === "system") lossy.add("system-to-developer");
    const developer = developerMessage({ instructions: text });
    return developer === undefined ? [] : [{ message: developer, callId: undefined }];
  });
  const asked = member(header?.["generation_settings"], "builtin_tools");
  const namespaces = Array.isArray(asked) ? BUILTINS.filter(({ key }) => asked.includes(key)) : [];
  const isHonoured = Array.isArray(asked) && !hasOwn && namespaces.length === new Set(asked).size;
  if (asked != null && !isHonoured) lossy.add("generation_settings.builtin_tools");
  if (hasOwn) return rest;
  return [{ message: promptSystem(header, namespaces), callId: undefined }, ...rest];
}

/** The tools of `builtin_tools`, with their definitions from training. */
const BUILTINS: readonly ToolNamespace[] = [BROWSER_NAMESPACE, PYTHON_NAMESPACE];

function isSystemInForm({ role, content }: HarmonyMessage): boolean {
  return role === "system" && typeof content === "string" && CHANNEL_LINE.test(content);
}

function promptSystem(
  header: DocumentHeader | null,
  namespaces: readonly ToolNamespace[],
): HarmonyMessage {
  const settings = header?.["generation_settings"];
  const asked = member(settings, "reasoning_effort");
  const efforts: readonly ReasoningEffort[] = ["low", "medium", "high"];
  return systemMessage({
    identity: "You are ChatGPT, a large language model trained by OpenAI.",
    knowledgeCutoff: "2024-06",
    effort: efforts.find((effort) => effort === asked) ?? "medium",
    namespaces,
  });
}
