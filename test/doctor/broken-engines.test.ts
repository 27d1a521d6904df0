/** An engine of each kind, intact and with one defect at a time: the check for that defect reports it. */
import { describe, expect, test } from "vitest";
import { type DoctorOptions, type DoctorReport, examine } from "../../src/doctor/doctor.ts";
import { createServerQuery } from "../../src/doctor/server-query.ts";
import { createEngine, createFetchTransport, ENGINE_KINDS } from "../../src/index.ts";
import { STOPPED } from "../helpers/stopped-clock.ts";
import type { Defect } from "../helpers/toy-engine.ts";
import { type ServerKind, startToyServer, TOY_MODEL } from "../helpers/toy-servers.ts";

const DEFECTS: readonly Defect[] = [
  "no-ids",
  "wrong-specials",
  "ignored-constraints",
  "endless-white-space",
  "hidden-stop",
  "buffered",
  "ignored-temperature",
  "kept-slots",
  "cached-prompts-only",
  "cached-wholes-only",
];

/** The check that reports a defect, and its verdict. */
const NAMED_BY: Readonly<Record<Defect, readonly [check: string, verdict: string]>> = {
  "no-ids": ["ids-out", "degraded"],
  "wrong-specials": ["special-tokens", "broken"],
  "ignored-constraints": ["json-schema", "broken"],
  "endless-white-space": ["json-schema", "degraded"],
  "hidden-stop": ["stop-return", "degraded"],
  buffered: ["streaming", "broken"],
  "ignored-temperature": ["temperature", "broken"],
  "kept-slots": ["abort", "broken"],
  "cached-prompts-only": ["loop-cache", "degraded"],
  "cached-wholes-only": ["loop-cache", "degraded"],
};

/** Other verdicts of a kind. Undefined: the kind cannot have the defect. */
const EXCEPTIONS: Partial<Record<ServerKind, Partial<Record<Defect, string | undefined>>>> = {
  "llama-cpp": { "no-ids": "broken" },
  ollama: {
    "no-ids": "broken",
    "hidden-stop": undefined,
    "cached-prompts-only": undefined,
    "cached-wholes-only": undefined,
  },
  completions: {
    "no-ids": "broken",
    "hidden-stop": undefined,
    "ignored-constraints": undefined,
    "endless-white-space": undefined,
  },
};

async function examineKind(
  kind: ServerKind,
  defect: Defect | undefined,
  options: Partial<DoctorOptions> = {},
): Promise<DoctorReport> {
  const server = await startToyServer({ kind, ...(defect && { defect }) });
  const transport = createFetchTransport();
  try {
    return await examine(
      {
        engine: createEngine(kind, { url: server.url, model: TOY_MODEL, transport }),
        query: createServerQuery({ url: server.url, transport }),
        model: TOY_MODEL,
        turns: 2,
        streams: [1, 8],
        budgetMs: 600_000,
        patienceMs: 300,
        ...options,
      },
      new AbortController().signal,
    );
  } finally {
    await server.close();
  }
}

function verdictsOf({ checks }: DoctorReport): Record<string, string> {
  return Object.fromEntries(
    checks
      .filter(({ verdict }) => verdict === "degraded" || verdict === "broken")
      .map(({ id, verdict }) => [id, verdict]),
  );
}

/** Checks that an intact engine of a kind does not pass: all of them are `degraded`. */
const BY_NATURE: Readonly<Record<ServerKind, readonly string[]>> = {
  vllm: [],
  sglang: [],
  trtllm: ["cache-isolation"],
  fireworks: [],
  "llama-cpp": ["ids-out", "cache-isolation"],
  ollama: ["ids-in", "ids-out", "stop-return", "prefix-cache"],
  completions: ["cache-isolation", "ids-in", "ids-out", "stop-call", "stop-return"],
};

const SERVER_KINDS = ENGINE_KINDS.filter((kind) => kind !== "demo" && kind !== "llama");

describe.each(SERVER_KINDS)("%s", (kind) => {
  test("intact, fails no check but those that its kind cannot pass", async () => {
    const untimed = { patienceMs: 60_000, clock: STOPPED };
    const faults = verdictsOf(await examineKind(kind, undefined, untimed));
    expect(Object.keys(faults).toSorted()).toEqual(BY_NATURE[kind].toSorted());
    expect(Object.values(faults)).not.toContain("broken");
  });

  const exceptions = EXCEPTIONS[kind] ?? {};
  const defects = DEFECTS.filter((defect) => !(defect in exceptions) || exceptions[defect]);
  test.concurrent.each(defects)("with %s fails the check for it", async (defect) => {
    const [check, usual] = NAMED_BY[defect];
    const report = await examineKind(kind, defect, { only: [check] });
    const result = report.checks.find(({ id }) => id === check);
    expect(result).toMatchObject({ verdict: exceptions[defect] ?? usual });
    expect(result?.change).toBeTruthy();
    expect(report.summary).toContain(check);
  });
});

test.each([
  [
    "vllm",
    "cached-prompts-only",
    "vllm serve … --prefix-cache-retention-interval 128; it takes room in the cache under load.",
  ],
  [
    "vllm",
    "cached-wholes-only",
    "vllm serve … --enable-prefix-caching --enable-prompt-tokens-details",
  ],
  ["sglang", "cached-prompts-only", "Update the server: some versions cache prompts only."],
] as const)("%s with %s in tool loops gets its advice", async (kind, defect, advice) => {
  const { checks } = await examineKind(kind, defect, { only: ["loop-cache"] });
  expect(checks.find(({ id }) => id === "loop-cache")?.change).toBe(advice);
});

test.each([
  [
    "vllm",
    `Forbid white space between JSON tokens: vllm serve … --structured-outputs-config '{"backend":"xgrammar","disable_any_whitespace":true}'.`,
  ],
  [
    "sglang",
    "Forbid white space between JSON tokens: launch_server … --constrained-json-disable-any-whitespace.",
  ],
] as const)("%s that writes white space without end gets advice against it", async (kind, flag) => {
  const only = ["json-schema", "structural-tag"];
  const { checks } = await examineKind(kind, "endless-white-space", { only });
  const advice = checks.filter(({ id }) => only.includes(id));
  expect(advice.map(({ id, change }) => [id, change])).toEqual([
    ["json-schema", flag],
    [
      "structural-tag",
      "Update the server: xgrammar 0.2.4 or newer limits white space in structural tags.",
    ],
  ]);
});
