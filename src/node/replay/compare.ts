/** Compares a turn with its repetition, and describes the differences in sentences. */
import { o200kHarmony, type TokenId } from "../../tokenizer/index.ts";
import type {
  RecordedAnswer,
  RecordedCall,
  RecordedText,
  TurnRecord,
} from "../../telemetry/record/schema.ts";
import { commonLength } from "../../common-length.ts";
import { readsMedia } from "../../api/media/media-texts.ts";
import { contentIds } from "./read-record.ts";
import { listedServers } from "./recorded-servers.ts";
import type { ConvertedMessage, Replayed } from "./run-again.ts";

export interface Comparison {
  readonly differences: readonly Difference[];
  /** Names of parts of the record without a difference. */
  readonly same: readonly string[];
  /** Parts that could not be compared, with the reason. */
  readonly skipped: readonly string[];
}

export interface Difference {
  /** The part of the record: `prompt`, `call 2`, `answer` … */
  readonly where: string;
  readonly was: string;
  readonly is: string;
}

export function compareTurns(before: TurnRecord, replayed: Replayed): Comparison {
  const { record: after, converted } = replayed;
  const differences: Difference[] = [];
  const same: string[] = [];
  const skipped: string[] = [];
  const check = (name: string, found: readonly Difference[]): void => {
    if (found.length === 0) same.push(name);
    else differences.push(...found);
  };
  if (converted === undefined) {
    skipped.push("conversation: the request refers to what was stored; the recorded one was used");
  } else if (before.conversation.some(({ text }) => readsMedia(shown(text)))) {
    skipped.push(
      "conversation: what another model or program read in its images and files is not read again; the recorded text was used",
    );
  } else {
    check("conversation", compareConversations(before.conversation, converted));
  }
  check("prompt", compareIds("prompt", idsOf(before), idsOf(after)));
  check("decisions", compareTexts("decision", decisionsOf(before), decisionsOf(after)));
  check("calls", compareCalls(before.calls, after.calls));
  check("parts", compareTexts("part", partsOf(before), partsOf(after)));
  check("recoveries", compareTexts("recovery", recoveriesOf(before), recoveriesOf(after)));
  check("end", compareTexts("end", [endOf(before)], [endOf(after)]));
  const listed = listedServers(before);
  const unlisted = listedServers(after).find((label) => !listed.includes(label));
  const results = before.parts.filter(({ kind }) => kind === "tool-result");
  if (results.some(({ shown: details }) => details === undefined)) {
    skipped.push(
      "answer: it shows what tools found, which this record has only as the model read it",
    );
  } else if (unlisted !== undefined) {
    skipped.push(
      `answer: the tools of the MCP server ${unlisted} were listed in an earlier response, which the record does not have`,
    );
  } else if (before.cut.some(({ what }) => what === "events" || what === "answer")) {
    skipped.push("answer: the record has only its beginning");
  } else if (before.request?.method === "WEBSOCKET") {
    check("answer", compareTexts("event", messagesOf(before.answer), messagesOf(after.answer)));
  } else if (before.answer?.body === undefined && before.answer?.events === undefined) {
    skipped.push("answer: the record has none");
  } else {
    check("answer", compareTexts("answer", answerOf(before.answer), answerOf(after.answer)));
  }
  return { differences, same, skipped };
}

/**
 * Compares the recorded conversation with the current conversion of the request. The gateway's additions are left out: the system
 * message, and reasoning that was decrypted or stored.
 */
function compareConversations(
  before: TurnRecord["conversation"],
  converted: readonly ConvertedMessage[],
): Difference[] {
  const restored = new Set(
    before.flatMap(({ source, text }) =>
      (source === "sealed" || source === "stored") && typeof text === "string" ? [text] : [],
    ),
  );
  const hasRestored = restored.size > 0;
  const isOwn = ({ role, channel, text }: ConvertedMessage): boolean =>
    role !== "system" &&
    !(hasRestored && channel === "analysis" && typeof text === "string" && restored.has(text));
  return compareTexts(
    "message",
    before.filter((each) => isOwn(each)).map((each) => messageText(each)),
    converted.filter((each) => isOwn(each)).map((each) => messageText(each)),
  );
}

function messageText(message: ConvertedMessage): string {
  const { role, name, recipient, channel, contentType, text } = message;
  const header = [role, name, channel, recipient && `to ${recipient}`, contentType].filter(Boolean);
  return `${header.join(" ")}: ${shown(text)}`;
}

function compareCalls(before: readonly RecordedCall[], after: readonly RecordedCall[]) {
  const found: Difference[] = [];
  for (const [index, call] of before.entries()) {
    const other = after[index];
    if (other === undefined) continue;
    const where = `call ${index + 1}`;
    found.push(
      ...compareIds(`${where}, appended`, contentIds(call.appended), contentIds(other.appended)),
      ...compareTexts(`${where}, request`, [requestOf(call)], [requestOf(other)]),
    );
  }
  if (before.length !== after.length) {
    found.push({ where: "calls", was: `${before.length}`, is: `${after.length}` });
  }
  return found;
}

function requestOf(call: RecordedCall): string {
  const { stage, constraint, sampling, stopIds, maxTokens } = call;
  return JSON.stringify({ stage, constraint, sampling, stopIds, maxTokens });
}

function idsOf({ prompt }: TurnRecord): readonly TokenId[] {
  return prompt === null ? [] : contentIds(prompt.ids);
}

/** Number of ids around the first difference that are shown as text. */
const AROUND = 8;

function compareIds(
  where: string,
  before: readonly TokenId[],
  after: readonly TokenId[],
): Difference[] {
  const at = commonLength(before, after);
  if (at === before.length && at === after.length) return [];
  const show = (ids: readonly TokenId[]) =>
    `${ids.length} tokens, … ${JSON.stringify(o200kHarmony().decode(ids.slice(Math.max(0, at - AROUND), at + AROUND)))} …`;
  return [{ where: `${where}, token ${at}`, was: show(before), is: show(after) }];
}

function decisionsOf({ decisions }: TurnRecord): string[] {
  return decisions.map((decision) => JSON.stringify({ ...decision, ms: undefined }));
}

function partsOf({ parts }: TurnRecord): string[] {
  return parts.map(({ kind, name, header, sent, text, failed }) => {
    const words = [
      kind,
      name,
      header === "gateway" && "(opened by the gateway)",
      !sent && "(not sent)",
    ];
    return `${words.filter(Boolean).join(" ")}${failed ? " (failed)" : ""}: ${shown(text)}`;
  });
}

function recoveriesOf({ recoveries }: TurnRecord): string[] {
  return recoveries.map(
    ({ name, call, at, became }) => `${name} in call ${call + 1} at ${at}: ${became}`,
  );
}

function endOf({ end }: TurnRecord): string {
  if (end === null) return "none";
  const { outcome, usage, failure, error } = end;
  return JSON.stringify({ outcome, usage, failure, error });
}

function answerOf(answer: RecordedAnswer | null): string[] {
  if (answer === null) return [];
  const text =
    answer.body === undefined
      ? (answer.events ?? []).map((event) => shown(event.text)).join("")
      : shown(answer.body);
  return [`${answer.status}`, ...toStable(text).split("\n\n")];
}

/** The events as messages of a WebSocket. Server-sent events have the same content. */
function messagesOf(answer: RecordedAnswer | null): string[] {
  return (answer?.events ?? []).flatMap(({ text }) =>
    toStable(shown(text))
      .split("\n\n")
      .map((frame) => /^data: (.*)$/m.exec(frame)?.[1] ?? frame)
      .filter((message) => message !== "" && message !== "[DONE]"),
  );
}

/** Removes ids and times, which are always new, and content that is encrypted with a new key. */
function toStable(text: string): string {
  return text
    .replaceAll(/^: .*\n\n/gm, "")
    .replaceAll(/"(encrypted_content|signature|data|obfuscation)":"[^"]*"/g, '"$1":"…"')
    .replaceAll(/"(created|created_at|completed_at)":\d+/g, '"$1":0')
    .replaceAll(
      /\b(gen-\d+|gen|resp|msg|rs|fc|ctc|ws|ci|mcp|mcpl|mcpr|req|call|srvtoolu|chatcmpl)[-_][\w-]{6,}/g,
      "$1_…",
    );
}

function shown(text: RecordedText): string {
  return typeof text === "string" ? text : `(${text.chars} characters)`;
}

/** The first entry that differs, and the number of entries. */
function compareTexts(
  where: string,
  before: readonly string[],
  after: readonly string[],
): Difference[] {
  const most = Math.max(before.length, after.length);
  for (let at = 0; at < most; at++) {
    const was = before[at];
    const is = after[at];
    if (was === is) continue;
    const place = most > 1 ? `${where} ${at + 1}` : where;
    return [{ where: place, ...aroundDifference(was ?? "(none)", is ?? "(none)") }];
  }
  return [];
}

const SHOWN = 160;

/** Cuts long texts to the part around their first difference. */
function aroundDifference(was: string, is: string): { readonly was: string; readonly is: string } {
  const at = commonLength(was, is);
  const from = at > SHOWN / 2 ? at - SHOWN / 4 : 0;
  const cut = (text: string) =>
    `${from > 0 ? "…" : ""}${text.slice(from, from + SHOWN)}${text.length > from + SHOWN ? "…" : ""}`;
  return { was: cut(was), is: cut(is) };
}
