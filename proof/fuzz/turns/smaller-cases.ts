/** Slightly smaller variants of a failing case. */
import { type Case, PLAIN_ENGINE, PLAIN_SETTINGS, type PlannedMessage } from "./case.ts";

/** Smaller cases, from the largest step to the smallest. */
export function* smallerCases(given: Case): Generator<Case> {
  const { demands, history, engine, settings, choices } = given;
  if (demands.n > 1) {
    for (const plan of choices) yield { ...given, choices: [plan], demands: { ...demands, n: 1 } };
  }
  for (const fewer of without(history, (_, at) => at === lastUser(given))) {
    yield { ...given, history: fewer };
  }
  for (const [at, entry] of history.entries()) {
    if (entry.role !== "user" && entry.role !== "call") continue;
    for (const media of without(entry.media ?? [])) {
      yield { ...given, history: history.with(at, { ...entry, media }) };
    }
  }
  for (const [index, plan] of choices.entries()) {
    for (const fewer of without(plan)) yield withPlan(given, index, fewer);
  }
  for (const simpler of simplerDemands(given)) yield simpler;
  for (const [name, value] of Object.entries(PLAIN_SETTINGS)) {
    if (Reflect.get(settings, name) !== value) {
      yield { ...given, settings: { ...settings, [name]: value } };
    }
  }
  for (const [name, value] of Object.entries(PLAIN_ENGINE)) {
    if (JSON.stringify(Reflect.get(engine, name)) !== JSON.stringify(value)) {
      yield { ...given, engine: { ...engine, [name]: value } };
    }
  }
  for (const name of ["cutAfter", "contextLength"] as const) {
    const { [name]: left, ...rest } = engine;
    if (left !== undefined) yield { ...given, engine: rest };
  }
  for (const [at, entry] of history.entries()) {
    if (entry.role === "user" && entry.text !== "hi") {
      yield { ...given, history: history.with(at, { ...entry, text: "hi" }) };
    }
  }
  for (const [index, plan] of choices.entries()) {
    for (const [at, message] of plan.entries()) {
      for (const simpler of simplerMessages(message)) {
        yield withPlan(given, index, plan.with(at, simpler));
      }
    }
  }
}

function* simplerDemands(given: Case): Generator<Case> {
  const { demands } = given;
  const names = ["maxTokens", "effort", "reasoningBudget", "topLogprobs", "prefill"] as const;
  for (const name of names) {
    const { [name]: left, ...rest } = demands;
    if (left !== undefined) yield { ...given, demands: rest };
  }
  for (const stop of without(demands.stop)) yield { ...given, demands: { ...demands, stop } };
  if (demands.toolChoice.type !== "auto") {
    yield { ...given, demands: { ...demands, toolChoice: { type: "auto" } } };
  }
  for (const tools of without(demands.tools)) {
    const kept = new Set(tools.map(({ name }) => name));
    const { toolChoice } = demands;
    const needed =
      toolChoice.type === "named"
        ? [toolChoice.name]
        : toolChoice.type === "allowed"
          ? toolChoice.names
          : [];
    const isCalled = given.history.some((entry) => entry.role === "call" && !kept.has(entry.name));
    const isEmpty = tools.length === 0 && toolChoice.type === "required";
    if (needed.some((name) => !kept.has(name)) || isCalled || isEmpty) continue;
    yield { ...given, demands: { ...demands, tools } };
  }
  for (const [at, tool] of demands.tools.entries()) {
    if (!tool.strict) continue;
    const tools = demands.tools.with(at, { ...tool, strict: false });
    yield { ...given, demands: { ...demands, tools } };
  }
  if (demands.format !== "text") yield { ...given, demands: { ...demands, format: "text" } };
  if (!demands.parallelToolCalls) {
    yield { ...given, demands: { ...demands, parallelToolCalls: true } };
  }
  if (demands.hidesReasoning) yield { ...given, demands: { ...demands, hidesReasoning: false } };
}

const PLAIN_HEADERS: Record<PlannedMessage["role"], (name: string | undefined) => string> = {
  analysis: () => "<|channel|>analysis<|message|>",
  preamble: () => "<|channel|>commentary<|message|>",
  final: () => "<|channel|>final<|message|>",
  call: (name) => ` to=functions.${name}<|channel|>commentary <|constrain|>json<|message|>`,
};

function* simplerMessages(message: PlannedMessage): Generator<PlannedMessage> {
  const { isEndless, isSplit, ...rest } = message;
  if (isSplit === true) yield { ...rest, ...(isEndless !== undefined && { isEndless }) };
  if (isEndless === true) yield rest;
  const header = PLAIN_HEADERS[message.role](message.name);
  if (message.header !== header && message.isMalformed !== true) yield { ...message, header };
  const half = Math.floor(message.body.length / 2);
  if (half > 0) {
    yield { ...message, body: message.body.slice(0, half) };
    yield { ...message, body: message.body.slice(half) };
  }
  const word = /^(?:tho|pre|ans|arg|odd)\d+/.exec(message.body)?.[0];
  if (word !== undefined && word !== message.body) yield { ...message, body: word };
}

function withPlan(given: Case, index: number, plan: readonly PlannedMessage[]): Case {
  return { ...given, choices: given.choices.with(index, plan) };
}

function lastUser({ history }: Case): number {
  return history.findLastIndex(({ role }) => role === "user");
}

/** The list with each of its items left out in turn. */
function* without<T>(
  items: readonly T[],
  mustStay: (item: T, at: number) => boolean = () => false,
): Generator<T[]> {
  for (const [at, item] of items.entries()) {
    if (!mustStay(item, at)) yield items.filter((_, other) => other !== at);
  }
}
