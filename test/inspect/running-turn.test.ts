/** A page that reads a running turn receives each change once. */
import { expect, test } from "vitest";
import type { Engine } from "../../src/index.ts";
import { addNews } from "../../web/inspect/merge-news.ts";
import type { LoadedTurn, Row } from "../../web/inspect/types.ts";
import { STEERED } from "../browser/turns.ts";
import { createRecordedApp, type RecordedApp } from "../helpers/recorded-app.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";

type TurnRecord = LoadedTurn["record"];

/** Reads the changes of the turn after each group of `every` tokens. */
async function lookAt(every: number, settings: object = {}) {
  let known: LoadedTurn | undefined;
  const sent: TurnRecord[] = [];
  const look = async (): Promise<void> => {
    const [entry] = app.entries;
    if (entry === undefined) throw new Error("no turn");
    const row = toRow(entry);
    const { record, seen } = await entry.changes(known?.seen);
    if (seen === undefined) throw new Error("the turn has ended");
    // JSON, which arrives at the page, has no undefined members.
    const news: LoadedTurn = JSON.parse(JSON.stringify({ row, record, tokens: {}, seen }));
    sent.push(structuredClone(news.record));
    known = known === undefined ? news : addNews(known, news);
  };
  const scripted = scriptedEngine(STEERED.scripts);
  let tokens = 0;
  const engine: Engine = {
    ...scripted,
    async *complete(request, signal) {
      for await (const event of scripted.complete(request, signal)) {
        yield event;
        if (event.type === "ids" && ++tokens % every === 0) await look();
      }
    },
  };
  const app = createRecordedApp({ engine, recorder: { pause: async () => {}, ...settings } });
  await (await app.post("/v1/chat/completions", { ...STEERED.body, stream: true })).text();
  const [whole] = await app.records();
  if (known === undefined || whole === undefined) throw new Error("nothing was seen");
  return { known: known.record, sent, whole };
}

function toRow(entry: RecordedApp["entries"][number]): Row {
  const { number, isComplete, isPinned } = entry;
  return { number, isComplete, isPinned, ...entry.summary() };
}

test.each([1, 2, 7])("looks after every %i tokens add up to the record", async (every) => {
  const { known, sent, whole } = await lookAt(every);
  expect(sent.length).toBeGreaterThan(3);
  expect(known.conversation).toEqual(whole.conversation);
  expect(known.prompt?.ids).toEqual(whole.prompt?.ids);
  expect(known.request).toEqual(whole.request);
  expect(known.calls.length).toBeGreaterThan(2);
  for (const [index, call] of known.calls.entries()) {
    const { reads, decision, appended } = whole.calls[index] ?? {};
    const isLast = index === known.calls.length - 1;
    expect(call).toMatchObject({ decision, appended });
    expect(call.reads).toEqual(isLast ? reads?.slice(0, call.reads.length) : reads);
  }
  expect(whole.decisions.slice(0, known.decisions.length)).toEqual(known.decisions);
  const texts = known.parts.map(({ text }) => textOf(text));
  const last = texts.pop() ?? "";
  const all = whole.parts.map(({ text }) => textOf(text));
  expect(all.slice(0, texts.length)).toEqual(texts);
  expect(all[texts.length]?.slice(0, last.length)).toBe(last);
  const events = known.answer?.events ?? [];
  expect(whole.answer?.events?.slice(0, events.length)).toEqual(events);
});

test("nothing is sent twice but the heads of the last call and part", async () => {
  const { known, sent, whole } = await lookAt(2);
  const count = (of: (record: TurnRecord) => readonly unknown[]) =>
    sent.reduce((sum, record) => sum + of(record).length, 0);
  const readsOf = ({ calls }: TurnRecord) => calls.flatMap(({ reads }) => reads);
  expect(count(readsOf)).toBe(readsOf(known).length);
  expect(count(({ decisions }) => decisions)).toBe(known.decisions.length);
  expect(count(({ answer }) => answer?.events ?? [])).toBe(known.answer?.events?.length ?? 0);
  expect(sent.filter(({ prompt }) => prompt !== null)).toHaveLength(1);
  const characters = ({ parts }: TurnRecord) =>
    parts.reduce((sum, { text }) => sum + (typeof text === "string" ? text.length : 0), 0);
  expect(sent.reduce((sum, record) => sum + characters(record), 0)).toBe(characters(known));
  expect(characters(whole)).toBeGreaterThanOrEqual(characters(known));
});

test("where content is not kept, looks hold none, and sizes add up", async () => {
  const { known, sent, whole } = await lookAt(3, { keepsContent: false });
  expect(JSON.stringify(sent)).not.toContain("Maaemo");
  expect(whole.content).toBe(false);
  const sizes = ({ parts }: TurnRecord) => parts.map(({ text }) => text);
  expect(sizes(known).slice(0, -1)).toEqual(sizes(whole).slice(0, known.parts.length - 1));
});

test("a record is put together in slices", async () => {
  let pauses = 0;
  const engine = scriptedEngine(
    () => `<|channel|>final<|message|>${"many words ".repeat(5000)}<|return|>`,
  );
  const pause = async (): Promise<void> => void (pauses += 1);
  const limits = { maxRecordBytes: 2 ** 26, maxTotalBytes: 2 ** 26, maxRecords: 1 };
  const app = createRecordedApp({ engine, recorder: { pause, limits } });
  await (
    await app.post("/v1/chat/completions", {
      ...STEERED.body,
      tools: [],
      tool_choice: "none",
      stream: true,
    })
  ).text();
  const [record] = await app.records();
  expect(record?.cut).toEqual([]);
  expect(record?.calls[0]?.reads.length).toBeGreaterThan(9000);
  // Tokens are parsed, and then listed.
  expect(pauses).toBeGreaterThan(16);
});

/** The recorder of these tests keeps content. */
function textOf(text: string | { readonly chars: number }): string {
  if (typeof text !== "string") throw new TypeError("the text was not recorded");
  return text;
}
