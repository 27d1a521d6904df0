/** The parts and recoveries of a recorded turn. */
import type { Part } from "../../turn/turn.ts";
import type { ParsedPart, ParsedTurn } from "./parse-again.ts";
import type { TurnRecording } from "./recording.ts";
import type { RecordedPart, RecordedRecovery } from "./schema.ts";

export function toParts(recording: TurnRecording, { parts }: ParsedTurn): RecordedPart[] {
  const ids = matchEmitted(recording, parts);
  const results = new Map(recording.results.map((note) => [note.result.id, note]));
  return parts.flatMap((part, index) => {
    const emitted = ids[index];
    const id = emitted !== undefined && "id" in emitted.part ? emitted.part.id : undefined;
    // The call of a function that the gateway runs has no special form.
    const isRun = emitted?.part.kind === "builtin-call";
    const kind = isRun ? "builtin-call" : part.kind;
    const own = toPart({ ...part, kind }, emitted?.part, id);
    const note = id === undefined ? undefined : results.get(id);
    if (note === undefined) return [own];
    const [, message] = note.result.messages;
    const text = typeof message?.content === "string" ? message.content : "";
    const result: RecordedPart = {
      kind: "tool-result",
      ...(part.name !== undefined && { name: part.name }),
      ...(id !== undefined && { id }),
      text,
      header: "gateway",
      spans: [],
      sent: true,
      failed: note.result.failed,
      ...(note.result.reason !== undefined && { reason: note.result.reason }),
      shown: JSON.stringify(note.result.shown),
      ...(emitted?.ended !== undefined && { started: emitted.ended }),
      ended: note.ms,
    };
    return [own, result];
  });
}

function toPart(part: ParsedPart, emitted: Part | undefined, id: string | undefined): RecordedPart {
  const { kind, name, channel, recipient, contentType, text, header, spans } = part;
  return {
    kind,
    ...(name !== undefined && { name }),
    ...(id !== undefined && { id }),
    ...(channel !== undefined && { channel }),
    ...(recipient !== undefined && { recipient }),
    ...(contentType !== undefined && { contentType }),
    text,
    header,
    ...(emitted !== undefined && "form" in emitted && { form: emitted.form }),
    ...(emitted !== undefined && toTrained(emitted)),
    spans: spans.map((span) => ({ ...span })),
    sent: emitted !== undefined,
  };
}

function toTrained(emitted: Part): Pick<RecordedPart, "trained"> {
  if (emitted.kind !== "tool-call" || emitted.trained === undefined) return {};
  const { outcome, profile, notes } = emitted.trained;
  return { trained: { client: emitted.name, outcome, profile, notes: [...notes] } };
}

/**
 * Matches each parsed part with the emitted one. The search goes backwards, because a rejected part precedes its replacement.
 */
function matchEmitted({ emitted }: TurnRecording, parts: readonly ParsedPart[]) {
  const matched: ((typeof emitted)[number] | undefined)[] = parts.map(() => undefined);
  let next = emitted.length - 1;
  for (let index = parts.length - 1; index >= 0 && next >= 0; index--) {
    const part = parts[index];
    const candidate = emitted[next];
    if (part === undefined || candidate === undefined) continue;
    const { kind } = candidate.part;
    // With a response format, preambles are emitted as reasoning.
    const fits =
      kind === part.kind ||
      (kind === "reasoning" && part.kind === "preamble") ||
      (kind === "builtin-call" && part.kind === "tool-call");
    if (!fits) continue;
    matched[index] = candidate;
    next--;
  }
  return matched;
}

/** The recoveries of the parser and of the turn, in order. */
export function toRecoveries(
  recording: TurnRecording,
  { recoveries }: ParsedTurn,
): RecordedRecovery[] {
  const own = recording.decisions.flatMap(({ decision }, index): RecordedRecovery[] => {
    if (!("repair" in decision) || decision.repair === undefined) return [];
    const call = Math.max(
      0,
      recording.calls.findLastIndex((each) => each.decision < index),
    );
    const { used = 0, reads } = recording.calls[call] ?? {};
    const at = Math.min(used, reads?.units ?? 0);
    const problem =
      decision.type === "retry-answer"
        ? decision.problem
        : decision.type === "retry-call" || decision.type === "explain-call"
          ? decision.wrong.problem
          : "";
    return [{ name: decision.repair, call, at, was: problem, became: decision.type }];
  });
  return [...recoveries.map((each) => ({ ...each })), ...own].toSorted(
    (a, b) => a.call - b.call || a.at - b.at,
  );
}
