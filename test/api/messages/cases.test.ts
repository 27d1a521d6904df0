import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { EngineError } from "../../../src/index.ts";
import { createRenderer, memberText } from "../../../src/harmony/index.ts";
import { toConversation } from "../../harmony/render-cases.ts";
import { lazyGateway } from "../../helpers/gateway.ts";
import { type Script, scriptedEngine } from "../../helpers/scripted-engine.ts";
import {
  MODEL,
  post,
  readEvents,
  seal,
  SEALING_KEY,
  type StreamEvent,
  tamperedSeal,
  unseal,
} from "./support.ts";

const line = z.object({
  id: z.string(),
  kind: z.enum(["request", "response", "stream", "error", "count"]),
  input: z.record(z.string(), z.unknown()),
  expected: z.record(z.string(), z.unknown()),
});

const CASES = readFileSync(
  new URL("../../fixtures/messages-cases/messages.jsonl", import.meta.url),
  "utf8",
)
  .split("\n")
  .filter((text) => text !== "")
  .map((text) => ({ ...line.parse(JSON.parse(text)), text }));

function casesOf(kind: string) {
  return CASES.filter((each) => each.kind === kind);
}

const ANSWER = "<|channel|>final<|message|>Done.<|return|>";
const renderer = createRenderer();

function gatewayWith(scripts: readonly Script[], settings: Record<string, unknown> = {}) {
  const engine = scriptedEngine(scripts);
  const { fetch } = lazyGateway({
    models: [{ id: MODEL, engine, contextLength: 131_072 }],
    settings: { sealingKeys: [SEALING_KEY], date: "2026-11-21", layout: "reference", ...settings },
  });
  return { engine, fetch };
}

test("the file has no case of an unknown kind", () => {
  expect(CASES.length).toBe(75);
});

describe("a request is rendered as", () => {
  test.each(casesOf("request"))("$id", async ({ input, text }) => {
    const { engine, fetch } = gatewayWith([ANSWER]);
    const body = await withSeals(input);
    const response = await fetch("/v1/messages", post(body));
    expect(await response.text()).toContain("Done.");
    expect(response.status).toBe(200);
    const expected = renderer.renderCompletion(toConversation(memberText(text, "expected") ?? ""));
    const ids = engine.requests[0]?.prompt.ids ?? [];
    // The header opened for the model follows it.
    const isOpened = JSON.stringify(input["thinking"]) === '{"type":"disabled"}';
    expect(isOpened ? ids.slice(0, expected.length) : ids).toEqual(expected.ids);

    const { max_tokens: maxTokens, ...counted } = body;
    expect(maxTokens).toBeDefined();
    const count = await fetch("/v1/messages/count_tokens", post(counted));
    expect(await count.json()).toEqual({ input_tokens: ids.length });
    expect(engine.requests.length).toBe(1);
  });
});

describe("a turn is answered with", () => {
  test.each(casesOf("response"))("$id", async ({ input, expected }) => {
    const { fetch } = gatewayWith(toScripts(input), { reasoningPolicy: input["policy"] });
    const response = await fetch("/v1/messages", post(toBody(input)));
    expect(response.status).toBe(200);
    expect(response.headers.get("request-id")).toMatch(/^req_/);
    const message = await withOpenedSignatures(await response.json());
    expect(differences(message, expected)).toEqual([]);
  });
});

describe("a turn is streamed as", () => {
  test.each(casesOf("stream"))("$id", async ({ input, expected }) => {
    const { fetch } = gatewayWith(toScripts(input), { reasoningPolicy: input["policy"] });
    const response = await fetch("/v1/messages", post(toBody(input)));
    expect(response.status).toBe(200);
    const events = await withOpenedSignatures(joinDeltas(readEvents(await response.text())));
    expect(differences(events, expected["events"])).toEqual([]);
  });
});

describe("failures are reported as", () => {
  test.each(casesOf("error"))("$id", async ({ input, expected }) => {
    const failure = ENGINE_FAILURES[String(input["engine"])];
    const { fetch } = gatewayWith([failure ?? ANSWER]);
    const given = input["body"];
    const body = typeof given === "string" ? { ...toBody({}), messages: TOO_MANY_TOKENS } : given;
    const headers = z.record(z.string(), z.string()).optional().parse(input["headers"]);
    const response = await fetch("/v1/messages", post(z.looseObject({}).parse(body), headers));
    expect(response.status).toBe(expected["status"]);
    const reply = z.looseObject({ request_id: z.string() }).parse(await response.json());
    expect(reply.request_id).toBe(response.headers.get("request-id"));
    expect(differences(reply, expected["body"])).toEqual([]);
  });
});

describe("tokens are counted in", () => {
  test.each(casesOf("count"))("$id", async ({ input }) => {
    const { engine, fetch } = gatewayWith([ANSWER]);
    const response = await fetch("/v1/messages/count_tokens", post(input));
    await fetch("/v1/messages", post({ ...input, max_tokens: 16 }));
    expect(await response.json()).toEqual({ input_tokens: engine.requests[0]?.prompt.ids.length });
  });
});

const ENGINE_FAILURES: Readonly<Record<string, Script>> = {
  503: { refuse: new EngineError("overloaded", "busy", { status: 503 }) },
  500: { refuse: new EngineError("server-error", "broken", { status: 500 }) },
};

const TOO_MANY_TOKENS = [{ role: "user", content: " a".repeat(200_000) }];

function toBody({ request }: Record<string, unknown>): object {
  return {
    model: MODEL,
    max_tokens: 1024,
    messages: [{ role: "user", content: "Go." }],
    ...z.looseObject({}).optional().parse(request),
  };
}

const completion = z.object({
  completion: z.string(),
  upstream_finish: z.enum(["stop", "length"]).optional(),
  engine: z.literal("dies").optional(),
  prompt_tokens: z.number().optional(),
  cached_tokens: z.number().optional(),
  completion_tokens: z.number().optional(),
});

/** The gateway calls the engine once more after an empty answer. */
function toScripts(input: Record<string, unknown>): readonly Script[] {
  const given = completion.parse(input);
  const script = {
    write: given.completion,
    ...(given.upstream_finish && { finish: given.upstream_finish }),
    ...(given.engine && { fail: new EngineError("closed", "gone") }),
    ...(given.prompt_tokens !== undefined && {
      usage: {
        promptTokens: given.prompt_tokens,
        cachedTokens: given.cached_tokens ?? 0,
        completionTokens: given.completion_tokens ?? 0,
      },
    }),
  };
  return [script, script];
}

// Seals in requests, and what is free in answers

async function withSeals(value: object): Promise<Record<string, unknown>> {
  const text = JSON.stringify(value);
  const made = new Map<string, string>();
  for (const [name = "", kind, words = ""] of text.matchAll(
    /\$(seal|seal@bob|tampered)\(([^)]*)\)/g,
  )) {
    if (kind === "tampered") made.set(name, await tamperedSeal(words));
    else made.set(name, await seal(words, kind === "seal" ? "anonymous" : "bob"));
  }
  const sealed = text.replace(
    /\$(?:seal|seal@bob|tampered)\([^)]*\)/g,
    (name) => made.get(name) ?? name,
  );
  return z.looseObject({}).parse(JSON.parse(sealed));
}

async function withOpenedSignatures(value: unknown): Promise<unknown> {
  if (Array.isArray(value)) return Promise.all(value.map((each) => withOpenedSignatures(each)));
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(async ([key, member]): Promise<[string, unknown]> => {
    const isSignature = key === "signature" && typeof member === "string" && member !== "";
    return [
      key,
      isSignature ? `$sig(${await unseal(member)})` : await withOpenedSignatures(member),
    ];
  });
  return Object.fromEntries(await Promise.all(members));
}

/** Reports the path of a value that differs. Members that are not named are ignored. */
function differences(actual: unknown, expected: unknown, path = ""): string[] {
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) {
      return [`${path}: ${JSON.stringify(actual)} is not as long as ${JSON.stringify(expected)}`];
    }
    return expected.flatMap((each, index) => differences(actual[index], each, `${path}[${index}]`));
  }
  if (typeof expected === "object" && expected !== null) {
    const members = z.record(z.string(), z.unknown()).safeParse(actual).data ?? {};
    return Object.entries(expected).flatMap(([key, each]) =>
      differences(members[key], each, `${path}.${key}`),
    );
  }
  return isAsExpected(actual, expected)
    ? []
    : [`${path}: ${JSON.stringify(actual)} is not ${JSON.stringify(expected)}`];
}

function isAsExpected(actual: unknown, expected: unknown): boolean {
  switch (expected) {
    case "$n":
      return typeof actual === "number";
    case "$id":
      return /^[a-zA-Z0-9_-]+$/.test(String(actual));
    case "$model":
      return actual === MODEL;
    case "$any":
    case "$request-id":
      return typeof actual === "string";
    default: {
      const [, pattern] = /^\$match\((.*)\)$/.exec(String(expected)) ?? [];
      return pattern === undefined ? actual === expected : new RegExp(pattern).test(String(actual));
    }
  }
}

const TEXTS = ["text", "thinking", "partial_json"];

function joinDeltas(events: readonly StreamEvent[]): StreamEvent[] {
  const joined: StreamEvent[] = [];
  for (const each of events) {
    const delta = deltaOf(each);
    const before = deltaOf(joined.at(-1));
    const name = TEXTS.find((text) => delta?.[text] !== undefined && before?.[text] !== undefined);
    if (name !== undefined) {
      const whole = { ...delta, [name]: `${before?.[name]}${delta?.[name]}` };
      joined.splice(-1, 1, { ...each, data: { ...each.data, delta: whole } });
    } else if (each.event !== "ping") {
      joined.push(each);
    }
  }
  return joined;
}

function deltaOf(event: StreamEvent | undefined): Record<string, string> | undefined {
  if (event?.event !== "content_block_delta") return undefined;
  return z.record(z.string(), z.string()).parse(event.data["delta"]);
}
