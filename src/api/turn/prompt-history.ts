/**
 * Collects the messages of a history. Harmony matches results to calls by tool and order alone, so the results of parallel
 * calls of a tool are put into the order of the calls, and an unanswered call beside answered ones gets a notice.
 */
import { runningLoopStart } from "../../harmony/analysis.ts";
import type { Message } from "../../harmony/conversation.ts";
import { type NameShield, NO_SHIELD } from "../../harmony/name-shield.ts";
import { callMessage, functionRecipient, resultMessage } from "../../harmony/messages.ts";
import { trainedResultMessage } from "../../harmony/trained-tools.ts";
import {
  type DeferredFunctions,
  foundText,
  SEARCH_RECIPIENT,
} from "../../tools/tool-search/deferred-functions.ts";
import type { SampledSteps } from "../../store/reasoning-store.ts";
import { formInId } from "../../turn/call-id.ts";
import { putBackStep } from "../../turn/sampled/put-back.ts";
import { inForm, inOwnForm } from "../request/written-form.ts";
import type { TrainedHistory } from "../trained/trained-history.ts";

/** A difference between the client's history and the messages. */
export type HistoryChange =
  | "reasoning-tag"
  | "replies-joined"
  | "replies-reordered"
  | "reply-added"
  | "tool-name";

export interface CollectedHistory {
  readonly messages: readonly Message[];
  /** The id of the call or result at the same index, for which Harmony has no field. */
  readonly callIds: readonly (string | undefined)[];
  readonly changes: ReadonlySet<HistoryChange>;
  /** The recipients of deferred functions that the messages define. */
  readonly defined: ReadonlySet<string>;
}

/** Puts messages without calls before a history. */
export function withHead(
  head: readonly Message[],
  { messages, callIds, ...others }: CollectedHistory,
): CollectedHistory {
  return {
    messages: [...head, ...messages],
    callIds: [...head.map(() => undefined), ...callIds],
    ...others,
  };
}

const UNANSWERED = "No result was returned for this call.";

interface Call {
  readonly id: string | undefined;
  readonly recipient: string;
  /** The client's own call, if the model knows it as a call of a trained tool. */
  readonly sent?: Message;
  /** The author of the call's results, if it is not the recipient. */
  author?: string | undefined;
  /** Whether the call's message and its results are on `analysis`. */
  isTrained: boolean;
  /** The call's position among all calls. */
  readonly order: number;
  /** The results of the call: usually one, several if the client sent several. */
  readonly outputs: string[];
  /** The position of the call's first result among all results. */
  answeredAt: number;
  step: Step;
}

/** Calls, and the places of their results among the messages. A step ends when the model continues after a result. */
interface Step {
  readonly calls: Call[];
  /** The recipients of the results' places, in order. */
  readonly places: string[];
}

interface Slot {
  messages: readonly Message[];
  readonly id?: string | undefined;
  readonly call?: Call;
  /** The client sent a result here. */
  readonly place?: { readonly step: Step; readonly index: number };
}

/** The calls of one step with a common id or recipient. Calls before `next` are answered. */
interface CallQueue {
  readonly calls: Call[];
  next: number;
}

/** Options of rendering the client's calls. Absent members: calls stay unchanged. */
export interface ShownCalls {
  readonly shield?: NameShield | undefined;
  readonly trained?: TrainedHistory | undefined;
  /** Functions that the beginning of the prompt does not define. */
  readonly deferred?: DeferredFunctions | undefined;
}

export class PromptHistory {
  readonly #slots: Slot[] = [];
  readonly #byId = new Map<string, CallQueue>();
  readonly #byRecipient = new Map<string, CallQueue>();
  readonly #changes = new Set<HistoryChange>();
  /** The step that has not ended. */
  #step: Step | undefined;
  #calls = 0;
  #results = 0;
  readonly #sampled: SampledSteps;
  readonly #trained: TrainedHistory | undefined;
  readonly #shield: NameShield;
  readonly #deferred: DeferredFunctions | undefined;
  readonly #defined = new Set<string>();
  /** The recipients of deferred functions to be defined after the next results. */
  readonly #wanted = new Set<string>();

  /** @param sampled the steps that ended with calls of the running loop. */
  constructor(
    sampled: SampledSteps = new Map(),
    { shield = NO_SHIELD, trained, deferred }: ShownCalls = {},
  ) {
    this.#sampled = sampled;
    this.#shield = shield;
    this.#trained = trained;
    this.#deferred = deferred;
  }

  get isEmpty(): boolean {
    return this.#slots.length === 0;
  }

  /** Adds messages other than calls of the client's tools, and their results. */
  add(...messages: readonly Message[]): void {
    for (const message of messages) {
      const endsStep = isAnswered(this.#step) ? "assistant" : "user";
      if (message.role === endsStep) this.#step = undefined;
      if (message.role !== "tool") this.#define();
      this.#slots.push({ messages: [message] });
      if (message.role === "tool") this.#note(message.name ?? "", message.content);
      else if (message.recipient !== undefined) this.#note(message.recipient, "");
    }
  }

  /**
   * Defines deferred functions here, by their names in the turn. Functions that the history has already defined keep
   * their place.
   */
  define(names: readonly string[]): void {
    for (const name of names) {
      const recipient = this.#deferred?.recipientOf(name);
      if (recipient !== undefined) this.#wanted.add(recipient);
    }
  }

  /**
   * Adds a client's call. `id`: empty if the client sent none. The id determines the form in which the message is
   * written.
   */
  addCall(id: string, sent: Message): void {
    this.#define();
    const trained = this.#trained?.toTrained(sent);
    if (this.#step === undefined || isAnswered(this.#step)) {
      this.#step = { calls: [], places: [] };
    }
    const form = sent.contentType === undefined ? "raw" : "json";
    const shielded = this.#shield.recipient(sent.recipient ?? "", form);
    const message =
      trained ?? (shielded === sent.recipient ? sent : { ...sent, recipient: shielded });
    const { channel, recipient = "" } = message;
    const call: Call = {
      id: id === "" ? undefined : id,
      recipient,
      ...(trained && { sent }),
      isTrained: channel === "analysis",
      order: this.#calls++,
      outputs: [],
      answeredAt: 0,
      step: this.#step,
    };
    this.#step.calls.push(call);
    if (id !== "") enqueue(this.#byId, id, call);
    enqueue(this.#byRecipient, shielded, call);
    this.#slots.push({ messages: [message], id: call.id, call });
    this.#note(shielded, "");
  }

  /**
   * Adds the result of a call. Returns false if no call has this id. If several calls of a step have it, the oldest
   * unanswered one is used.
   */
  addResult(id: string, output: string): boolean {
    const queue = this.#byId.get(id);
    const call = queue && (firstUnanswered(queue) ?? queue.calls.at(-1));
    if (call === undefined) return false;
    this.#answer(call, output);
    return true;
  }

  /** Adds a result without the id of a call. Returns false if the latest calls of this recipient are answered. */
  addResultOf(recipient: string, output: string): boolean {
    const queue = this.#byRecipient.get(this.#shield.recipient(recipient));
    const call = queue && firstUnanswered(queue);
    if (call === undefined) return false;
    this.#answer(call, output);
    return true;
  }

  /** Adds a search that the gateway has run. `found`: names in the turn. */
  addSearch(body: string, found: readonly string[]): void {
    const recipients = found.map(
      (name) => this.#deferred?.recipientOf(name) ?? functionRecipient(name),
    );
    const result = resultMessage(SEARCH_RECIPIENT, foundText(recipients));
    this.add(callMessage(SEARCH_RECIPIENT, body), result);
  }

  /** Adds a result of a tool without any call. */
  addLoneResult(result: Message): void {
    this.add({ ...result, name: this.#shield.recipient(result.name ?? "") });
  }

  note(change: HistoryChange): void {
    this.#changes.add(change);
  }

  collect(): CollectedHistory {
    this.#define();
    this.#putBackSteps();
    const messages: Message[] = [];
    const callIds: (string | undefined)[] = [];
    const results = new Map<Step, readonly (readonly Call[])[]>();
    for (const { messages: own, id, place } of this.#slots) {
      for (const message of own) {
        messages.push(message);
        callIds.push(id);
      }
      if (place === undefined) continue;
      let ofStep = results.get(place.step);
      if (!ofStep) results.set(place.step, (ofStep = toPlaces(place.step, this.#changes)));
      for (const call of ofStep[place.index] ?? []) {
        messages.push(toResult(call));
        callIds.push(call.id);
      }
    }
    return { messages, callIds, changes: this.#changes, defined: this.#defined };
  }

  /** Notes the deferred functions that a call or its result makes known. */
  #note(recipient: string, result: Message["content"]): void {
    const text = typeof result === "string" ? result : "";
    for (const each of this.#deferred?.recipientsOf(recipient, text) ?? []) this.#wanted.add(each);
  }

  /**
   * Adds the definitions of wanted functions, but not between a call and its result, nor between the calls of a step.
   */
  #define(): void {
    if (this.#wanted.size === 0 || (this.#step !== undefined && !isAnswered(this.#step))) return;
    const message = this.#deferred?.define(this.#wanted, this.#defined);
    this.#wanted.clear();
    if (message !== undefined) this.#slots.push({ messages: [message] });
  }

  /** Rewrites calls in the form in which they were sampled, and messages of the running loop with their ids. */
  #putBackSteps(): void {
    const running = runningLoopStart(this.#slots, ({ messages }) => messages.some(isAnswer));
    let step: Slot[] = [];
    for (const [index, slot] of this.#slots.entries()) {
      const isRunning = index >= running;
      const { call, id } = slot;
      if (call === undefined) {
        if (slot.place || !isRunning) step = [];
        else step.push(slot);
        continue;
      }
      const form = id === undefined ? undefined : formInId(id);
      const stored = id === undefined ? undefined : this.#sampled.get(id);
      const { sent } = call;
      const written = sent && this.#trained?.findWritten(sent, stored);
      call.author = written?.recipient;
      slot.messages = slot.messages.map((each) =>
        sent === undefined
          ? inForm(each, form, isRunning)
          : inOwnForm({ sent, trained: each, written }, form, isRunning),
      );
      call.isTrained = slot.messages.some(({ channel }) => channel === "analysis");
      if (!isRunning) continue;
      const slots = [...step, slot];
      const own = slots.flatMap(({ messages }) => messages.filter(isAssistant));
      const noted = putBackStep(own, stored, form !== undefined).values();
      for (const each of slots) {
        each.messages = each.messages.map((message) =>
          isAssistant(message) ? (noted.next().value ?? message) : message,
        );
      }
      step = [];
    }
  }

  #answer(call: Call, output: string): void {
    if (call.outputs.push(output) > 1) {
      this.#changes.add("replies-joined");
      return;
    }
    this.#note(call.recipient, output);
    call.answeredAt = this.#results++;
    const step = isAnswered(call.step) ? call.step : this.#reopen(call.step);
    // A result that arrives after the model has continued joins the other results of its step.
    if (step !== this.#step) return;
    this.#slots.push({ messages: [], place: { step, index: step.places.length } });
    step.places.push(call.recipient);
  }

  /** Moves the calls of a step that ended without results to the current step, where their results are placed. */
  #reopen(step: Step): Step {
    if (this.#step === undefined || this.#step === step) return (this.#step = step);
    for (const call of step.calls.splice(0)) {
      call.step = this.#step;
      this.#step.calls.push(call);
    }
    return this.#step;
  }
}

function isAnswer({ role, channel }: Message): boolean {
  return role === "assistant" && channel === "final";
}

function isAssistant({ role }: Message): boolean {
  return role === "assistant";
}

/**
 * For each place of a step, the calls whose results are placed there. Results of different tools keep the client's
 * order.
 */
function toPlaces({ calls, places }: Step, changes: Set<HistoryChange>): Call[][] {
  const filled = places.map((): Call[] => []);
  const byRecipient = Map.groupBy(places.keys(), (index) => places[index] ?? "");
  const answered = new Map<string, Call[]>();
  for (const call of calls.toSorted((a, b) => a.order - b.order)) {
    const { recipient, outputs, answeredAt } = call;
    const own = byRecipient.get(recipient) ?? [];
    let before = answered.get(recipient);
    if (before === undefined) answered.set(recipient, (before = []));
    filled[own[before.length] ?? own.at(-1) ?? places.length - 1]?.push(call);
    if (outputs.length === 0) {
      changes.add("reply-added");
      continue;
    }
    const isLate = before.length >= own.length;
    if (isLate || (before.at(-1)?.answeredAt ?? 0) > answeredAt) changes.add("replies-reordered");
    before.push(call);
  }
  return filled;
}

function isAnswered(step: Step | undefined): boolean {
  return step !== undefined && step.places.length > 0;
}

function enqueue(queues: Map<string, CallQueue>, key: string, call: Call): void {
  const queue = queues.get(key);
  if (queue?.calls[0]?.step === call.step) queue.calls.push(call);
  else queues.set(key, { calls: [call], next: 0 });
}

function firstUnanswered(queue: CallQueue): Call | undefined {
  while ((queue.calls[queue.next]?.outputs.length ?? 0) > 0) queue.next++;
  return queue.calls[queue.next];
}

function toResult({ recipient, author = recipient, isTrained, outputs }: Call): Message {
  const output = outputs.length === 0 ? UNANSWERED : outputs.join("\n\n");
  return isTrained ? trainedResultMessage(author, output) : resultMessage(author, output);
}
