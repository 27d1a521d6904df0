/** Formats numbers, names and texts for the page. */
import type { RecordedIds, RecordedText, TurnRecord } from "../../src/telemetry/record/schema.ts";
import type { Row, Tokens } from "./types.ts";

export function toMs(ms: number | null): string {
  if (ms === null) return "–";
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  return ms < 999.5 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/**
 * Formats `12,345`. The browser's own formats are created anew for each number and time: half of the time to draw a list of
 * turns.
 */
export function toCount(count: number | null | undefined): string {
  if (count === null || count === undefined) return "–";
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ",");
}

/** Formats `23:59:59`, in the time zone of the browser. */
export function toTime(at: string): string {
  const time = new Date(at);
  const parts = [time.getHours(), time.getMinutes(), time.getSeconds()];
  return parts.map((part) => String(part).padStart(2, "0")).join(":");
}

/** Formats `2026-11-28`, in the time zone of the browser. */
export function toDay(at: string): string {
  const time = new Date(at);
  const parts = [time.getFullYear(), time.getMonth() + 1, time.getDate()];
  return parts.map((part) => String(part).padStart(2, "0")).join("-");
}

/**
 * Replaces characters that embed, override or isolate a direction by their names: no style keeps an open one from moving the text
 * beside it, such as a control token.
 */
export function plain(text: string): string {
  return text.replaceAll(
    /[\u202a-\u202e\u2066-\u2069]/g,
    (sign) => `[U+${sign.charCodeAt(0).toString(16).toUpperCase()}]`,
  );
}

/** Text, or its length if content is not recorded. */
export function shown(text: RecordedText | undefined): string {
  if (text === undefined) return "";
  return typeof text === "string" ? plain(text) : `(${toCount(text.chars)} characters, not kept)`;
}

export function idsOf(ids: RecordedIds): readonly number[] {
  return Array.isArray(ids) ? ids : [];
}

/** A token as text. Bytes of an incomplete character are hex. */
export function tokenText(id: number, tokens: Tokens): string {
  const text = tokens[id];
  if (text === undefined) return `[${id}]`;
  if (typeof text === "string") return text;
  return text.map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("");
}

/** Undefined: the token is text by itself. */
export function brokenBytes(id: number, tokens: Tokens): readonly number[] | undefined {
  const text = tokens[id];
  return typeof text === "object" ? text : undefined;
}

const FIRST_SPECIAL = 199_998;

export function isSpecial(id: number): boolean {
  return id >= FIRST_SPECIAL;
}

/** The role or channel that determines the colour and the letter. */
export type Hue = "system" | "developer" | "user" | "analysis" | "commentary" | "final" | "tool";

export const LETTERS: Record<Hue, string> = {
  system: "S",
  developer: "D",
  user: "U",
  analysis: "A",
  commentary: "C",
  final: "F",
  tool: "T",
};

export function hueOfMessage({ role, channel }: TurnRecord["conversation"][number]): Hue {
  if (role === "assistant") {
    return channel === "analysis" || channel === "commentary" ? channel : "final";
  }
  return role;
}

export function hueOfPart(kind: string): Hue {
  switch (kind) {
    case "reasoning":
      return "analysis";
    case "content":
      return "final";
    case "tool-result":
      return "tool";
    default:
      return "commentary";
  }
}

/** `bad`: a 5xx, a failed turn or a broken stream. `warn`: a rejected request or an answer that was cut. */
export type Tone = "good" | "warn" | "bad" | "busy" | "plain";

/** An outcome as a word, with its tone. */
export function toOutcome(row: Pick<Row, "outcome" | "status">): {
  readonly word: string;
  readonly tone: Tone;
} {
  const { outcome, status } = row;
  switch (outcome) {
    case "stop":
      return { word: "answered", tone: "good" };
    case "tool-calls":
      return { word: "called a tool", tone: "good" };
    case "length":
      return { word: "cut at limit", tone: "warn" };
    case "rejected":
      return { word: `rejected · ${status ?? ""}`, tone: (status ?? 0) >= 500 ? "bad" : "warn" };
    case "running":
      return { word: "running", tone: "busy" };
    case "error":
    case "failed":
      return {
        word: status !== null && status >= 400 ? `failed · ${status}` : "failed",
        tone: "bad",
      };
    default:
      return { word: outcome, tone: "plain" };
  }
}

/** The outcome as a value of the filter's `status:`. */
export function toStatus(row: Pick<Row, "outcome" | "status">): string {
  const { tone } = toOutcome(row);
  if (tone === "bad") return "error";
  if (tone === "warn") return row.outcome === "rejected" ? "rejected" : "cut";
  return tone === "busy" ? "running" : "ok";
}

/** A notable fact about a turn, with its meaning. */
export interface Chip {
  /** Name of the fact in filters: `is:repaired`. */
  readonly name: string;
  readonly label: string;
  readonly meaning: string;
}

type ChipRow = Pick<Row, "steered" | "repairs" | "reasoningFrom" | "hasContent" | "isPinned">;

export function chipsOf({
  steered,
  repairs,
  reasoningFrom,
  hasContent,
  isPinned,
}: ChipRow): Chip[] {
  const has = (names: readonly string[]): boolean => steered.some((each) => names.includes(each));
  const malformed = repairs.filter((name) => !STEERING_REPAIRS.has(name));
  const chips: (Chip | false)[] = [
    has(FORCING) && {
      name: "forced",
      label: "forced call",
      meaning: "The request demands a call, so the gateway opened it.",
    },
    has(CONSTRAINING) && {
      name: "schema",
      label: "schema enforced",
      meaning: "The answer or a call's arguments had to match a schema.",
    },
    repairs.includes("cut-reasoning") && {
      name: "cut",
      label: "reasoning cut",
      meaning: "The reasoning had used its budget, or repeated itself.",
    },
    malformed.length > 0 && {
      name: "repaired",
      label: "output repaired",
      meaning: `The model's output was malformed: ${malformed.join(", ")}.`,
    },
    reasoningFrom === "lost" && {
      name: "missing",
      label: "reasoning missing",
      meaning: "The client did not send the reasoning back, and no store had it.",
    },
    isPinned && {
      name: "pinned",
      label: "pinned",
      meaning: "It is kept until it is unpinned.",
    },
    !hasContent && {
      name: "private",
      label: "content left out",
      meaning: "The request, its key or the gateway's settings want no text to be recorded.",
    },
  ];
  return chips.filter((chip) => chip !== false);
}

const FORCING = ["open-reasoning", "choose-function", "open-call", "open-builtin-call"];
const CONSTRAINING = [
  "constrain-turn",
  "constrain-answer",
  "constrain-call",
  "retry-answer",
  "retry-call",
];
/** Repairs by which the gateway kept a promise, while the output was well-formed. */
const STEERING_REPAIRS = new Set([
  "cut-reasoning",
  "invalid-answer",
  "invalid-arguments",
  "refused-call",
]);

/** Explanations of the gateway's decisions, in a few words. */
export const DECISIONS: Record<string, string> = {
  continue: "let the model write",
  "constrain-turn": "let the model write under one constraint",
  "skip-reasoning": "wrote an empty reasoning message, so that the model does not reason",
  "open-reasoning": "opened a reasoning message; a call is forced after it",
  "open-message": "opened another message",
  "open-answer": "opened the answer",
  "constrain-answer": "constrained the answer to its schema",
  "check-answer": "checked the answer against its schema",
  "retry-answer": "rejected the answer and asked for another",
  "choose-function": "asked which function to call",
  "open-call": "opened a call",
  "constrain-call": "constrained the arguments to their schema",
  "check-calls": "checked the arguments against their schema",
  "retry-call": "rejected the arguments and asked for others",
  "explain-call": "told the model why its call cannot be made",
  "refuse-call": "answered a call that is not allowed with an error",
  "open-builtin-call": "opened a call to a tool of the gateway",
  "write-approved-call": "wrote a call that the client had approved",
  "run-tool": "ran the tool",
  "ask-for-more-calls": "asked whether there is another call",
  finish: "ended the turn",
  fail: "ended the turn with an error",
};
