/** Adds new parts of a running turn to the page's copy. */
import type {
  RecordedAnswer,
  RecordedCall,
  RecordedPart,
  RecordedText,
} from "../../src/telemetry/record/schema.ts";
import type { LoadedTurn } from "./types.ts";

/** Adds to the lists of `known` in place: a copy in each update would make long turns cost the square of their length. */
export function addNews(known: LoadedTurn, news: LoadedTurn): LoadedTurn {
  // The turn has ended: `news` is the whole record.
  if (news.seen === undefined || known.seen === undefined) return news;
  const { record } = known;
  const { settings, conversation, prompt, parsing } = record;
  return {
    ...news,
    tokens: { ...known.tokens, ...news.tokens },
    record: {
      ...news.record,
      request: news.record.request ?? record.request,
      ...(news.record.prompt === null && { settings, conversation, prompt, parsing }),
      decisions: append(record.decisions, news.record.decisions),
      calls: addCalls(record.calls, news.record.calls, known.seen.call),
      parts: addParts(record.parts, news.record.parts, Math.max(0, known.seen.parts - 1)),
      recoveries: append(record.recoveries, news.record.recoveries),
      answer: addAnswer(record.answer, news.record.answer),
    },
  };
}

function addCalls(known: RecordedCall[], news: readonly RecordedCall[], from: number) {
  for (const [index, call] of news.entries()) {
    const old = known[from + index];
    known[from + index] =
      old === undefined ? call : { ...call, reads: append(old.reads, call.reads) };
  }
  return known;
}

function addParts(known: RecordedPart[], news: readonly RecordedPart[], from: number) {
  for (const [index, part] of news.entries()) {
    const old = known[from + index];
    known[from + index] = old === undefined ? part : { ...part, text: join(old.text, part.text) };
  }
  return known;
}

function join(text: RecordedText, more: RecordedText): RecordedText {
  if (typeof text === "string") return typeof more === "string" ? text + more : more;
  return typeof more === "string" ? more : { chars: text.chars + more.chars };
}

function addAnswer(known: RecordedAnswer | null, news: RecordedAnswer | null) {
  if (known === null || news === null) return news ?? known;
  const events = append(known.events ?? [], news.events ?? []);
  return { ...news, ...(events.length > 0 && { events }) };
}

function append<T>(list: T[], more: readonly T[]): T[] {
  for (const each of more) list.push(each);
  return list;
}
