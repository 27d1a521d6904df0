/** Removes the content of a record. Its structure, sizes, token counts and times remain. */
import type {
  RecordedCall,
  RecordedIds,
  RecordedRead,
  RecordedText,
  TurnRecord,
} from "./schema.ts";

/** Pure. A record without content is returned unchanged. */
export function redactRecord(record: TurnRecord): TurnRecord {
  if (!record.content) return record;
  const { request, prompt, answer, settings, end } = record;
  return {
    ...record,
    content: false,
    request: request && { ...request, body: textLength(request.body) },
    settings: settings && redactSettings(settings),
    conversation: record.conversation.map((message) => ({
      ...message,
      text: textLength(message.text),
    })),
    prompt: prompt && { ...prompt, ids: idCount(prompt.ids) },
    decisions: record.decisions.map(({ problem, ...decision }) => ({
      ...decision,
      ...(problem !== undefined && { problem: textLength(problem) }),
    })),
    calls: record.calls.map((call) => redactCall(call)),
    parts: record.parts.map(({ shown, trained, ...part }) => ({
      ...part,
      ...(trained && { trained: { ...trained, notes: trained.notes.map(textLength) } }),
      text: textLength(part.text),
      ...(shown !== undefined && { shown: textLength(shown) }),
    })),
    ...(record.cited && {
      cited: record.cited.map((each) => ({ ...each, source: textLength(each.source) })),
    }),
    recoveries: record.recoveries.map((each) => ({ ...each, was: textLength(each.was) })),
    answer: answer && {
      ...answer,
      ...(answer.body !== undefined && { body: textLength(answer.body) }),
      ...(answer.events && {
        events: answer.events.map(({ ms, text }) => ({ ms, text: textLength(text) })),
      }),
    },
    end: end && redactEnd(end),
    parsing: record.parsing.map((note) =>
      "header" in note ? { header: idCount(note.header) } : note,
    ),
  };
}

function redactSettings(settings: NonNullable<TurnRecord["settings"]>): TurnRecord["settings"] {
  const { preset } = settings;
  return {
    ...settings,
    ...(preset?.instructions !== undefined && {
      preset: { ...preset, instructions: textLength(preset.instructions) },
    }),
    stop: settings.stop.map(textLength),
  };
}

/** Messages of engines and validators may quote the content. */
function redactEnd({ error, ...end }: NonNullable<TurnRecord["end"]>): TurnRecord["end"] {
  const { stopSequence, failure } = end;
  return {
    ...end,
    ...(stopSequence !== undefined && { stopSequence: textLength(stopSequence) }),
    ...(failure && { failure: { ...failure, message: textLength(failure.message) } }),
    ...(error !== undefined && { error: LEFT_OUT }),
  };
}

const LEFT_OUT = "left out, because content is not kept";

function redactCall({ constraint, error, ...call }: RecordedCall): RecordedCall {
  return {
    ...call,
    // The biased ids may be words of the content.
    logitBias: undefined,
    appended: idCount(call.appended),
    ...(constraint && { constraint: { ...constraint, text: textLength(constraint.text) } }),
    attempts: call.attempts.map(({ error: failure, ...attempt }) => ({
      ...attempt,
      ...(failure !== undefined && { error: LEFT_OUT }),
    })),
    reads: call.reads.map((read) => redactRead(read)),
    ...(error !== undefined && { error: LEFT_OUT }),
  };
}

function redactRead(read: RecordedRead): RecordedRead {
  if ("ids" in read) return { ms: read.ms, ids: idCount(read.ids) };
  if ("text" in read) return { ...read, text: textLength(read.text) };
  return {
    ...read,
    pieces: read.pieces.map((piece) =>
      "text" in piece ? { text: textLength(piece.text) } : piece,
    ),
  };
}

function textLength(text: RecordedText): RecordedText {
  return typeof text === "string" ? { chars: text.length } : text;
}

function idCount(ids: RecordedIds): RecordedIds {
  return Array.isArray(ids) ? { count: ids.length } : ids;
}
