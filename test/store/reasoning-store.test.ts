import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createMemoryStore, type Store } from "../../src/index.ts";
import {
  createReasoningStore,
  type ReasoningOutcome,
  worstOutcome,
} from "../../src/store/reasoning-store.ts";
import { o200kHarmony, type TokenId } from "../../src/tokenizer/index.ts";
import { spelledIds } from "../helpers/spelled.ts";

type Deps = Parameters<typeof createReasoningStore>[0];
type ReasoningStore = ReturnType<typeof createReasoningStore>;
type LoopStep = Parameters<ReasoningStore["restore"]>[1][number];
type CallReasoning = Awaited<ReturnType<ReasoningStore["restore"]>>[number]["reasoning"][number];
type TurnEvent = ReturnType<ReasoningStore["keep"]> extends AsyncIterable<infer E> ? E : never;
type Part = Extract<TurnEvent, { type: "part-start" }>["part"];

/** Seals texts in readable form, so that the tests are independent of the encryption. */
function createToyCipher(secret: string): Deps["cipher"] {
  return {
    seal: async (text, { tenant, purpose }) =>
      Buffer.from(JSON.stringify([secret, tenant, purpose, text])).toString("base64url"),
    async open(sealed, { tenant, purpose }) {
      const json = Buffer.from(sealed, "base64url").toString();
      if (!json.startsWith("[")) return { opened: false, reason: "malformed" };
      const [key, owner, kind, text = ""]: string[] = JSON.parse(json);
      if (key !== secret) return { opened: false, reason: "unknown-key" };
      return owner === tenant && kind === purpose
        ? { opened: true, text }
        : { opened: false, reason: "not-authentic" };
    },
  };
}

const END: TurnEvent = {
  type: "end",
  finish: "tool-calls",
  nativeReason: "stop",
  usage: {
    promptTokens: 1,
    cachedTokens: 0,
    completionTokens: 1,
    reasoningTokens: 1,
    engineCalls: 1,
  },
  recoveries: new Map(),
};

const think = (text: string) => eventsOf({ kind: "reasoning" }, text);
const say = (text: string) => eventsOf({ kind: "preamble" }, text);
function call(id: string, sampled?: Extract<TurnEvent, { type: "part-end" }>["sampled"]) {
  const events = eventsOf({ kind: "tool-call", id, name: "f" }, '{"a":1}').slice(0, -1);
  return [...events, { type: "part-end", ...(sampled && { sampled }) }] satisfies TurnEvent[];
}

/** A part whose text comes in two deltas. */
function eventsOf(part: Part, text: string): TurnEvent[] {
  const half = text.length >> 1;
  return [
    { type: "part-start", part },
    ...[text.slice(0, half), text.slice(half)]
      .filter((each) => each !== "")
      .map((each): TurnEvent => ({ type: "part-delta", text: each })),
    { type: "part-end" },
  ];
}

function turnOf(...parts: TurnEvent[][]): TurnEvent[] {
  return [{ type: "start", promptTokens: 9 }, ...parts.flat(), END];
}

async function* stream(events: readonly TurnEvent[]): AsyncGenerator<TurnEvent> {
  yield* events;
}

function keeperWith(options: { store?: Store; secret?: string } = {}) {
  const outcomes: ReasoningOutcome[] = [];
  const refusals: string[] = [];
  const store =
    options.store ?? createMemoryStore({ maxEntries: 5000, maxBytes: 1e6, now: Date.now });
  const reasoningStore = createReasoningStore({
    store,
    ttlSeconds: 60,
    cipher: createToyCipher(options.secret ?? "secret"),
    onRestored: (outcome) => outcomes.push(outcome),
    onSealRefused: (reason) => refusals.push(reason),
    onUnreadable: () => {},
  });
  /** Runs a turn, and returns the encrypted texts of its reasoning parts. */
  const run = async (events: readonly TurnEvent[], tenant = "alice"): Promise<string[]> => {
    const kept = await Array.fromAsync(reasoningStore.keep(stream(events), { tenant, seal: true }));
    return kept.flatMap((event) => ("sealed" in event && event.sealed) || []);
  };
  return { reasoningStore, outcomes, refusals, run };
}

/** For each call, the reasoning directly before it. */
function beforeCalls(...texts: readonly string[][]): CallReasoning[] {
  return texts.map((each) => ({ before: [each], after: [] }));
}

const NOT_KEPT: CallReasoning = { before: [], after: [] };

function step(fields: Partial<LoopStep>): LoopStep {
  return { sent: [], sealed: [], callIds: [], ...fields };
}

describe("storing", () => {
  test("the events are the same, in the same order", async () => {
    const { reasoningStore } = keeperWith();
    const events = turnOf(think("hm, well"), say("Wait."), think("so"), call("c1"), call("c2"));
    const kept = reasoningStore.keep(stream(events), { tenant: "alice", seal: false });
    expect(await Array.fromAsync(kept)).toEqual(events);
  });

  test("encryption adds to the end of each reasoning part only", async () => {
    const { reasoningStore } = keeperWith();
    const events = turnOf(think("hm"), think(""), call("c1"));
    const kept = reasoningStore.keep(stream(events), { tenant: "alice", seal: true });
    const sealed = { type: "part-end", sealed: expect.stringMatching(/^[\w-]+$/) };
    expect(await Array.fromAsync(kept)).toEqual([
      ...events.slice(0, 4),
      sealed,
      ...events.slice(5),
    ]);
  });

  test("an early return ends the turn", async () => {
    const { reasoningStore } = keeperWith();
    let left = false;
    async function* endless(): AsyncGenerator<TurnEvent> {
      try {
        for (;;) yield { type: "start", promptTokens: 9 };
      } finally {
        left = true;
      }
    }
    for await (const event of reasoningStore.keep(endless(), { tenant: "alice", seal: false })) {
      expect(event).toEqual({ type: "start", promptTokens: 9 });
      break;
    }
    expect(left).toBe(true);
  });

  test("errors of the turn are passed on", async () => {
    const { reasoningStore } = keeperWith();
    // oxlint-disable-next-line require-yield -- the generator fails before its first event
    async function* failing(): AsyncGenerator<TurnEvent> {
      throw new Error("engine gone");
    }
    const kept = reasoningStore.keep(failing(), { tenant: "alice", seal: false });
    await expect(Array.fromAsync(kept)).rejects.toThrow("engine gone");
  });

  test("reasoning is restored for a client that stops reading once it knows the call's id", async () => {
    const { reasoningStore } = keeperWith();
    for await (const event of reasoningStore.keep(stream(turnOf(think("hm"), call("c1"))), {
      tenant: "alice",
      seal: false,
    })) {
      if (event.type === "part-start" && event.part.kind === "tool-call") break;
    }
    await expect
      .poll(() => reasoningStore.restore("alice", [step({ callIds: ["c1"] })]))
      .toEqual([{ reasoning: beforeCalls(["hm"]), outcome: "stored" }]);
  });

  test("a call does not end before its reasoning is stored", async () => {
    const memory = createMemoryStore({ maxEntries: 10, maxBytes: 1000, now: Date.now });
    const slow = Promise.withResolvers<void>();
    const { reasoningStore } = keeperWith({
      store: {
        ...memory,
        set: (...args) => slow.promise.then(() => memory.set(...args)),
      },
    });
    const kept = reasoningStore.keep(stream(call("c1")), { tenant: "alice", seal: false });
    const iterator = kept[Symbol.asyncIterator]();
    for (let deltas = 0; deltas < 3; deltas++) await iterator.next();
    let over = false;
    const end = iterator.next().then(() => (over = true));
    await new Promise(setImmediate);
    expect(over).toBe(false);
    slow.resolve();
    await end;
    expect(await reasoningStore.restore("alice", [step({ callIds: ["c1"] })])).toEqual([
      { reasoning: beforeCalls([]), outcome: undefined },
    ]);
  });
});

describe("restoring", () => {
  /** `c1`, a call after one analysis message, and `c2`, a call after two; with the encrypted texts of all three. */
  async function afterTwoCalls() {
    const all = keeperWith();
    const cipher = await all.run(
      turnOf(think("one"), call("c1"), think("two"), think("three"), call("c2")),
    );
    return { ...all, cipher };
  }

  test("stored reasoning is restored before its calls, message by message", async () => {
    const { reasoningStore } = await afterTwoCalls();
    expect(await reasoningStore.restore("alice", [step({ callIds: ["c1", "c2"] })])).toEqual([
      { reasoning: beforeCalls(["one"], ["two", "three"]), outcome: "stored" },
    ]);
  });

  test("stored reasoning is restored around texts, and after the last call", async () => {
    const { reasoningStore, run } = keeperWith();
    await run(
      turnOf(
        think("plan"),
        say("Wait."),
        think("so"),
        call("c1"),
        think("next"),
        call("c2"),
        think("done"),
        say("There."),
        think("or not"),
      ),
    );
    expect(await reasoningStore.restore("alice", [step({ callIds: ["c1", "c2"] })])).toEqual([
      {
        reasoning: [
          { before: [["plan"], ["so"]], after: [] },
          { before: [["next"]], after: ["done", "or not"] },
        ],
        outcome: "stored",
      },
    ]);
  });

  test("encrypted reasoning is restored before the first call", async () => {
    const { cipher, reasoningStore } = await afterTwoCalls();
    expect(
      await reasoningStore.restore("alice", [step({ sealed: cipher, callIds: ["x", "y"] })]),
    ).toEqual([{ reasoning: beforeCalls(["one", "two", "three"]), outcome: "sealed" }]);
  });

  test("encrypted reasoning without a call is restored alone", async () => {
    const { cipher, reasoningStore } = await afterTwoCalls();
    expect(await reasoningStore.restore("alice", [step({ sealed: cipher.slice(0, 1) })])).toEqual([
      { reasoning: beforeCalls(["one"]), outcome: "sealed" },
    ]);
  });

  const precedence: [
    string,
    (cipher: string[]) => Partial<LoopStep>,
    string[][],
    ReasoningOutcome,
  ][] = [
    ["sent goes before all", (cipher) => ({ sent: ["mine"], sealed: cipher }), [["mine"]], "sent"],
    [
      "sealed goes before stored",
      (cipher) => ({ sealed: cipher.slice(0, 1) }),
      [["one"]],
      "sealed",
    ],
    ["stored comes last", () => ({}), [["one"]], "stored"],
    [
      "stored helps where a seal does not open",
      () => ({ sealed: ["forged"] }),
      [["one"]],
      "stored",
    ],
    [
      "stored helps where one of several seals does not open",
      (cipher) => ({ sealed: [...cipher.slice(0, 1), "forged"] }),
      [["one"]],
      "stored",
    ],
  ];
  test.each(precedence)("%s", async (_, fields, reasoning, outcome) => {
    const { cipher, reasoningStore } = await afterTwoCalls();
    const given = step({ callIds: ["c1"], ...fields(cipher) });
    expect(await reasoningStore.restore("alice", [given])).toEqual([
      { reasoning: beforeCalls(...reasoning), outcome },
    ]);
  });

  test.each<[string, string[], string[][], ReasoningOutcome]>([
    [
      "the kept text: the kept copy has it by messages",
      ["two\n\nthree"],
      [["two", "three"]],
      "sent",
    ],
    ["only the end of it: the kept copy is whole", ["ee"], [["two", "three"]], "stored"],
    ["something else: the sent text counts", ["my own"], [["my own"]], "sent"],
    ["more than was kept", ["zero\n\ntwo\n\nthree"], [["zero\n\ntwo\n\nthree"]], "sent"],
  ])("sent, %s", async (_, sent, reasoning, outcome) => {
    const { reasoningStore } = await afterTwoCalls();
    const given = step({ sent, callIds: ["c2"] });
    expect(await reasoningStore.restore("alice", [given])).toEqual([
      { reasoning: beforeCalls(...reasoning), outcome },
    ]);
  });

  test("sent reasoning is used if the store has none", async () => {
    const { reasoningStore } = keeperWith();
    const given = step({ sent: ["mine"], callIds: ["c1"] });
    expect(await reasoningStore.restore("alice", [given])).toEqual([
      { reasoning: beforeCalls(["mine"]), outcome: "sent" },
    ]);
  });

  test("unknown calls are lost, and the reasoning of others is used", async () => {
    const { reasoningStore } = await afterTwoCalls();
    expect(await reasoningStore.restore("alice", [step({ callIds: ["c0", "c2"] })])).toEqual([
      { reasoning: [NOT_KEPT, ...beforeCalls(["two", "three"])], outcome: "lost" },
    ]);
  });

  test("a call without an id is lost", async () => {
    const { reasoningStore } = keeperWith();
    expect(await reasoningStore.restore("alice", [step({ callIds: [undefined] })])).toEqual([
      { reasoning: [NOT_KEPT], outcome: "lost" },
    ]);
  });

  test("encrypted reasoning that cannot be decrypted counts as lost if there is nothing else", async () => {
    const { reasoningStore, refusals } = keeperWith();
    expect(await reasoningStore.restore("alice", [step({ sealed: ["forged"] })])).toEqual([
      { reasoning: [], outcome: "lost" },
    ]);
    expect(refusals).toEqual(["malformed"]);
  });

  test("a call without reasoning has no outcome", async () => {
    const { reasoningStore, outcomes, run } = keeperWith();
    await run(turnOf(call("c1")));
    expect(await reasoningStore.restore("alice", [step({ callIds: ["c1"] })])).toEqual([
      { reasoning: beforeCalls([]), outcome: undefined },
    ]);
    expect(outcomes).toEqual([]);
  });

  test("an entry that is not a list of texts is a miss", async () => {
    for (const value of ["", "null", '{"before":[]}', '["hm"]', "hm"]) {
      const memory = createMemoryStore({ maxEntries: 10, maxBytes: 1000, now: Date.now });
      const { reasoningStore } = keeperWith({ store: { ...memory, get: async () => value } });
      expect(await reasoningStore.restore("alice", [step({ callIds: ["c1"] })])).toEqual([
        { reasoning: [NOT_KEPT], outcome: "lost" },
      ]);
    }
  });

  test("the last thousand of very many calls are looked up", async () => {
    let gets = 0;
    const memory = createMemoryStore({ maxEntries: 10, maxBytes: 1000, now: Date.now });
    const { reasoningStore } = keeperWith({
      store: {
        ...memory,
        get: async () => {
          gets += 1;
          return 'v1 {"before":[["hm"]],"after":[]}';
        },
      },
    });
    const steps = Array.from({ length: 1500 }, (_, index) => step({ callIds: [`c${index}`] }));
    const restored = await reasoningStore.restore("alice", steps);
    expect(gets).toBe(1000);
    expect(restored.map(({ outcome }) => outcome)).toEqual([
      ...Array(500).fill("lost"),
      ...Array(1000).fill("stored"),
    ]);
  });
});

describe("tenants", () => {
  test("do not find each other's reasoning", async () => {
    const { reasoningStore, run } = keeperWith();
    const sealed = await run(turnOf(think("hm"), call("c1")), "alice");
    expect(await reasoningStore.restore("bob", [step({ sealed, callIds: ["c1"] })])).toEqual([
      { reasoning: [NOT_KEPT], outcome: "lost" },
    ]);
  });

  test("may use the same ids", async () => {
    const { reasoningStore, run } = keeperWith();
    await run(turnOf(think("alice's"), call("c1")), "alice");
    await run(turnOf(think("bob's"), call("c1")), "bob");
    const restored = await Promise.all(
      ["alice", "bob"].map((tenant) => reasoningStore.restore(tenant, [step({ callIds: ["c1"] })])),
    );
    expect(restored.flat().map(({ reasoning }) => reasoning)).toEqual([
      beforeCalls(["alice's"]),
      beforeCalls(["bob's"]),
    ]);
  });
});

describe("decrypting single items", () => {
  test("returns the text", async () => {
    const { reasoningStore, run } = keeperWith();
    const sealed = await run(turnOf(think("one"), call("c1"), think("two"), call("c2")));
    expect(await Promise.all(sealed.map((each) => reasoningStore.open("alice", each)))).toEqual([
      { opened: true, text: "one" },
      { opened: true, text: "two" },
    ]);
  });

  test("returns the reason of a refusal, and counts it", async () => {
    const { run } = keeperWith();
    const [sealed = ""] = await run(turnOf(think("one")));
    const { reasoningStore, refusals } = keeperWith({ secret: "another" });
    expect(await reasoningStore.open("alice", sealed)).toEqual({
      opened: false,
      reason: "unknown-key",
    });
    expect(refusals).toEqual(["unknown-key"]);
  });
});

test.each<[ReasoningOutcome | undefined, (ReasoningOutcome | undefined)[]]>([
  [undefined, []],
  [undefined, [undefined]],
  ["sent", [undefined, "sent"]],
  ["sealed", ["sent", "sealed"]],
  ["stored", ["sealed", "stored", "sent"]],
  ["lost", ["sent", "lost", "stored"]],
])("the outcome of a request is %s for %j", (worst, outcomes) => {
  expect(worstOutcome(outcomes.map((outcome) => ({ reasoning: [], outcome })))).toBe(worst);
});

test("the entries of a long loop are read in slices of a million characters, between which other requests run", async () => {
  const store = createMemoryStore({ maxEntries: 100, maxBytes: 10_000_000, now: Date.now });
  const { run } = keeperWith({ store });
  const ids = Array.from({ length: 40 }, (_, n) => `call_${n}`);
  const [word = 0] = o200kHarmony().encode("the");
  const longThought = [
    ...spelledIds("<|start|>assistant<|channel|>analysis<|message|>"),
    ...Array<TokenId>(13_400).fill(word),
    ...spelledIds("<|end|>"),
  ];
  for (const [n, id] of ids.entries()) {
    const mark = { length: n, low: 0, high: 0 };
    const spans = [{ at: 0, ids: longThought }];
    const sampled = { start: mark, end: mark, spans, isText: false };
    await run(turnOf(think("x".repeat(20_000)), call(id, sampled)));
  }

  let sinceTimer = 0;
  const [most, all] = [new Map<string, number>(), new Map<string, number>()];
  const note = (work: string, length: number) => {
    sinceTimer += length;
    most.set(work, Math.max(most.get(work) ?? 0, sinceTimer));
    all.set(work, (all.get(work) ?? 0) + length);
  };
  const { parse } = JSON;
  const { setTimeout } = globalThis;
  const tokenizer = o200kHarmony();
  const decode = tokenizer.decode.bind(tokenizer);
  vi.spyOn(JSON, "parse").mockImplementation((text, ...more) => {
    note("parsed", text.length);
    return parse(text, ...more);
  });
  vi.spyOn(tokenizer, "decode").mockImplementation((message) => {
    note("decoded", 3 * message.length);
    return decode(message);
  });
  vi.spyOn(globalThis, "setTimeout").mockImplementation((callback, delay) => {
    if (delay === 0) sinceTimer = 0;
    return setTimeout(callback, delay);
  });
  onTestFinished(() => void vi.restoreAllMocks());

  const { reasoning } = await keeperWith({ store }).reasoningStore.readCalls("alice", ids);
  expect(reasoning.size).toBe(40);
  expect(all.get("parsed")).toBeGreaterThan(2_400_000);
  expect(all.get("decoded")).toBeGreaterThanOrEqual(1_600_000);
  // The last slice of the entries and the first one of their steps have no pause between them.
  for (const characters of most.values()) expect(characters).toBeLessThan(2_000_000);
});
