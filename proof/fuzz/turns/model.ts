/**
 * A model that writes Harmony as gpt-oss does, including its mistakes. It follows its plan, and continues properly
 * wherever a prompt ends: after `<|start|>assistant`, in a header that names a function, in an open body.
 *
 * The output is a function of the prompt alone, whatever part of earlier output was read.
 */
import type { CompletionRequest } from "../../../src/index.ts";
import {
  isSpecial,
  o200kHarmony,
  SPECIAL_TOKENS,
  type TokenId,
} from "../../../src/tokenizer/index.ts";
import { spelledIds } from "../../../test/helpers/spelled.ts";
import type { Case, MessageRole, PlannedMessage } from "./case.ts";
import { createRandom, type Random, spreadSeed } from "../random.ts";
import {
  ANSWER,
  FUNCTIONS,
  satisfies,
  type Schema,
  toDocument,
  toWrongDocument,
} from "./schemas.ts";

export interface Completion {
  readonly ids: readonly TokenId[];
  readonly messages: readonly WrittenMessage[];
  readonly reason: "stop" | "length";
}

/** A message of a completion, and the range of its body's ids. */
export interface WrittenMessage {
  readonly role: MessageRole;
  readonly name?: string;
  readonly from: number;
  readonly to: number;
  readonly isMalformed: boolean;
  /** The body was opened by the prompt. */
  readonly isForced: boolean;
  /** The message only chooses a function: the transcript does not contain it. */
  readonly isChoice?: boolean;
}

const START = SPECIAL_TOKENS["<|start|>"];
const MESSAGE = SPECIAL_TOKENS["<|message|>"];
const RETURN = SPECIAL_TOKENS["<|return|>"];
const CALL = SPECIAL_TOKENS["<|call|>"];
const [ASSISTANT = 0] = o200kHarmony().encode("assistant");
const MODEL_STOPS = new Set<TokenId>([RETURN, CALL, SPECIAL_TOKENS["<|endoftext|>"]]);

/** The model's output for this prompt. `baseLength`: number of ids of the conversation at the turn's start. */
export function writeCompletion(
  given: Case,
  plan: readonly PlannedMessage[],
  prompt: readonly TokenId[],
  baseLength: number,
  request: Pick<CompletionRequest, "constraint" | "maxTokens" | "stopIds" | "sampling">,
): Completion {
  const writer = new Writer(given, plan, prompt, baseLength, request);
  return writer.write();
}

class Writer {
  readonly #case: Case;
  readonly #plan: readonly PlannedMessage[];
  readonly #prompt: readonly TokenId[];
  readonly #request: Pick<CompletionRequest, "constraint" | "maxTokens" | "stopIds" | "sampling">;
  readonly #random: Random;
  /** Number of assistant messages that the prompt begins, including the open one. */
  readonly #begun: number;
  readonly #ids: TokenId[] = [];
  readonly #messages: WrittenMessage[] = [];
  #words = 0;

  constructor(
    given: Case,
    plan: readonly PlannedMessage[],
    prompt: readonly TokenId[],
    baseLength: number,
    request: Pick<CompletionRequest, "constraint" | "maxTokens" | "stopIds" | "sampling">,
  ) {
    this.#case = given;
    this.#plan = plan;
    this.#prompt = prompt;
    this.#request = request;
    let begun = 1;
    for (let at = baseLength; at < prompt.length; at++) {
      if (prompt[at] === START && prompt[at + 1] === ASSISTANT) begun++;
    }
    this.#begun = begun;
    this.#random = createRandom(spreadSeed(given.seed + 7919 * begun + prompt.length));
  }

  write(): Completion {
    const start = this.#prompt.lastIndexOf(START);
    const tail = this.#prompt.slice(start + 1);
    const message = tail.indexOf(MESSAGE);
    const header = o200kHarmony().decode(message < 0 ? tail : tail.slice(0, message));
    const constraint = this.#case.engine.honoursConstraints ? this.#request.constraint : undefined;
    if (message >= 0) this.#continueBody(header, constraint);
    else if (constraint?.type === "choice") this.#choose(constraint.options);
    else if (header.endsWith("functions")) this.#nameFunction();
    else if (constraint?.type === "structural-tag" || constraint?.type === "token-grammar") {
      this.#writeConstrainedTurn();
    } else this.#writeFrom(this.#begun - 1);
    return this.#finish();
  }

  // ---- End of the prompt ---------------------------------------------------------------------------

  #continueBody(header: string, constraint: CompletionRequest["constraint"]): void {
    const name = /(?:functions\.)+([\w.-]+)/.exec(header)?.[1];
    const role = name !== undefined ? "call" : toRole(header);
    const stop = role === "call" ? "<|call|>" : "<|return|>";
    if (constraint?.type === "json-schema" || constraint?.type === "json-object") {
      const text = this.#conforming(role, name, toSchema(constraint));
      this.#body({ role, name, text, isForced: true });
      this.#append(stop);
      return;
    }
    const at = this.#plan.findIndex(
      (each, index) =>
        index >= this.#begun - 1 &&
        each.role === role &&
        (role !== "call" || each.name === undefined || each.name === name),
    );
    const planned = this.#plan[at];
    if (planned === undefined) {
      this.#body({ role, name, text: this.#madeUp(role, name), isForced: true });
      this.#append(role === "analysis" ? "<|end|>" : stop);
      if (role === "analysis") this.#continueAfter(this.#plan.length);
      return;
    }
    this.#body({ ...planned, role, name, text: planned.body, isForced: true });
    this.#append(planned.end);
    if (planned.end.endsWith("assistant")) this.#writeFrom(at + 1);
  }

  #choose(options: readonly string[]): void {
    const wanted = this.#plan.find(
      ({ role, name }) => role === "call" && options.includes(`.${name}`),
    );
    const option = wanted ? `.${wanted.name}` : (this.#random.pickOrNone(options) ?? "");
    this.#messages.push({
      role: "call",
      from: 0,
      to: 0,
      isMalformed: false,
      isForced: true,
      isChoice: true,
    });
    this.#append(option);
    this.#append("<|return|>");
  }

  /** When the name is requested without a constraint, the model writes the whole planned call. */
  #nameFunction(): void {
    const wanted = this.#plan.find(({ role }) => role === "call");
    const offered = this.#case.demands.tools.map(({ name }) => name);
    const name =
      wanted?.name ?? this.#random.pick([...offered, ...offered, "unknown_function", "-1 of"]);
    this.#messages.push({
      role: "call",
      from: 0,
      to: 0,
      isMalformed: false,
      isForced: true,
      isChoice: true,
    });
    this.#append(`.${name}<|channel|>commentary <|constrain|>json<|message|>`);
    this.#append(wanted?.body ?? "{}");
    this.#append("<|call|>");
  }

  /** Under one constraint for the whole turn: unconstrained analysis, then the demanded output. */
  #writeConstrainedTurn(): void {
    const { demands } = this.#case;
    const [first] = this.#plan;
    if (first?.role === "analysis" && first.isMalformed !== true) {
      this.#append("<|channel|>analysis<|message|>");
      this.#body({
        ...first,
        role: "analysis",
        name: undefined,
        text: first.body,
        isForced: false,
      });
      this.#append("<|end|><|start|>assistant");
    }
    const callable = callableNames(this.#case);
    const wanted = this.#plan.find(
      ({ role, name }) => role === "call" && name !== undefined && callable.includes(name),
    );
    const mustCall =
      demands.toolChoice.type === "required" ||
      demands.toolChoice.type === "named" ||
      (demands.toolChoice.type === "allowed" && demands.toolChoice.mode === "required");
    const name = wanted?.name ?? (mustCall ? this.#random.pickOrNone(callable) : undefined);
    if (name === undefined) {
      this.#append("<|channel|>final <|constrain|>json<|message|>");
      const text = this.#conforming("final", undefined);
      this.#body({ role: "final", name, text, isForced: false });
      this.#append("<|return|>");
      return;
    }
    this.#append(` to=functions.${name}<|channel|>commentary <|constrain|>json<|message|>`);
    this.#body({ role: "call", name, text: this.#conforming("call", name), isForced: false });
    this.#append("<|call|>");
  }

  #writeFrom(index: number): void {
    for (let at = index; at < this.#plan.length; at++) {
      const planned = this.#plan[at];
      if (planned === undefined || this.#isFull) return;
      const begin = this.#ids.length;
      this.#append(planned.header);
      this.#body({ ...planned, name: planned.name, text: planned.body, isForced: false, begin });
      this.#append(planned.end);
      // There is nothing after a message without the beginning of another.
      if (!planned.end.endsWith("assistant") && planned.isMalformed !== true) return;
    }
    if (index >= this.#plan.length) this.#continueAfter(index);
  }

  /** The plan is finished and the model is called again: it answers. */
  #continueAfter(index: number): void {
    if (this.#messages.length > 0) this.#append("<|start|>assistant");
    this.#append("<|channel|>final<|message|>");
    const text = this.#madeUp("final", undefined, index);
    this.#body({ role: "final", name: undefined, text, isForced: false });
    this.#append("<|return|>");
  }

  // ---- Output --------------------------------------------------------------------------------------

  /** A document that satisfies the schema: the planned one if it does. */
  #conforming(role: MessageRole, name: string | undefined, given?: Schema): string {
    const { format } = this.#case.demands;
    const own =
      role === "call" ? FUNCTIONS[name ?? ""] : format === "json-schema" ? ANSWER : undefined;
    const schema = given ?? own;
    const planned = this.#plan.find(
      (each) => each.role === role && each.name === name && satisfies(each.body, schema),
    );
    if (planned && planned.isEndless !== true && planned.isMalformed !== true) return planned.body;
    const prefix = role === "call" ? "arg" : "ans";
    return toDocument(schema, this.#random, () => this.#word(prefix));
  }

  #madeUp(role: MessageRole, name: string | undefined, index = 0): string {
    const { format } = this.#case.demands;
    if (role === "call" || (role === "final" && format !== "text")) {
      return this.#random.chance(0.5)
        ? this.#conforming(role, name)
        : toWrongDocument(this.#random, () => this.#word(role === "call" ? "arg" : "ans"));
    }
    const prefix = role === "analysis" ? "tho" : role === "preamble" ? "pre" : "ans";
    return `${this.#word(prefix)} made up${index > 9 ? " late" : ""}`;
  }

  #word(prefix: string): string {
    return `${prefix}${9000 + 10 * this.#begun + this.#words++}`;
  }

  #body(message: {
    readonly role: MessageRole;
    readonly name: string | undefined;
    readonly text: string;
    readonly isForced: boolean;
    readonly isEndless?: boolean;
    readonly isSplit?: boolean;
    readonly isMalformed?: boolean;
    /** Offset of its header. */
    readonly begin?: number;
  }): void {
    // A malformed header may be read as text, even if nothing follows it.
    const from = (message.isMalformed === true ? message.begin : undefined) ?? this.#ids.length;
    const tokenizer = o200kHarmony();
    const ids =
      message.isSplit === true
        ? Array.from(message.text).flatMap((character) => tokenizer.encode(character))
        : tokenizer.encode(message.text);
    // A malformed body may contain special tokens.
    const written = message.isMalformed === true ? spelledIds(message.text) : ids;
    do this.#ids.push(...written);
    while (message.isEndless === true && written.length > 0 && !this.#isFull);
    this.#messages.push({
      role: message.role,
      ...(message.name !== undefined && { name: message.name }),
      from,
      to: this.#ids.length,
      isMalformed: message.isMalformed === true,
      isForced: message.isForced,
    });
  }

  get #isFull(): boolean {
    return this.#ids.length > this.#request.maxTokens;
  }

  #append(spelled: string): void {
    this.#ids.push(...spelledIds(spelled));
  }

  // ---- The end -------------------------------------------------------------------------------------

  #finish(): Completion {
    const { stopIds, maxTokens, sampling } = this.#request;
    const { honoursStopIds, honoursBias } = this.#case.engine;
    let ids = this.#ids;
    const isBanned = (id: TokenId) =>
      honoursBias && (sampling.logitBias?.get(id) ?? 0) <= -100 && isSpecial(id);
    const banned = ids.findIndex((id) => isBanned(id));
    if (banned >= 0) ids = [...ids.slice(0, banned), isBanned(RETURN) ? CALL : RETURN];
    const stops = (id: TokenId) => MODEL_STOPS.has(id) || (honoursStopIds && stopIds.includes(id));
    const stop = ids.findIndex((id) => stops(id));
    // A model without further output ends, whatever it has left open.
    ids = stop < 0 ? [...ids, RETURN] : ids.slice(0, stop + 1);
    const isCut = ids.length > maxTokens;
    if (isCut) ids = ids.slice(0, maxTokens);
    const messages = this.#messages
      .filter(({ from, isMalformed }) => from < ids.length + (isMalformed ? 0 : 1))
      .map((each) => ({ ...each, to: Math.min(each.to, bodyEnd(ids, each.from, each.to)) }));
    return { ids, messages, reason: isCut ? "length" : "stop" };
  }
}

/** A truncated completion ends inside a body, or with the token that ends it. */
function bodyEnd(ids: readonly TokenId[], from: number, to: number): number {
  if (to < ids.length) return to;
  const last = ids.at(-1);
  const isEnded = last !== undefined && MODEL_STOPS.has(last) && ids.length > from;
  return isEnded ? ids.length - 1 : ids.length;
}

/** Every schema of a case is one of ours. */
function toSchema(constraint: CompletionRequest["constraint"]): Schema | undefined {
  return constraint?.type === "json-schema" ? JSON.parse(constraint.schema) : undefined;
}

function toRole(header: string): MessageRole {
  if (header.includes("analysis")) return "analysis";
  return header.includes("commentary") ? "preamble" : "final";
}

/** The functions that this request allows. */
export function callableNames({ demands }: Case): readonly string[] {
  const { toolChoice } = demands;
  switch (toolChoice.type) {
    case "none":
      return [];
    case "named":
      return [toolChoice.name];
    case "allowed":
      return toolChoice.names;
    case "auto":
    case "required":
      return demands.tools.map(({ name }) => name);
    default:
      return toolChoice satisfies never;
  }
}
