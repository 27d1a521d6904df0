/** Keeps the reasoning of one turn: stores it under the following call's id, and encrypts it for the client. */
import type { GatewayCallResult, Part, TurnEvent } from "../turn/turn.ts";
import type { Consumer } from "../streams/push-stream.ts";
import type { KeptReasoning, PlacedCall } from "./call-reasoning.ts";
import { CALL_PURPOSE, REASONING_PURPOSE, sealCarriedStep } from "./carried-steps.ts";
import { toKeptCall } from "./kept-call.ts";
import type { ReasoningCipher } from "./reasoning-cipher.ts";
import { toStoredStep } from "./stored-step.ts";

export interface KeepOptions {
  readonly tenant: string;
  /** Encrypts the text of reasoning parts and of calls that the gateway ran, at their end. */
  readonly seal: boolean;
  /**
   * Encrypts calls that the gateway ran, and adds all positions to the beginning of the client's next call, for clients that
   * carry everything in one list.
   */
  readonly carry?: boolean;
}

export interface KeepDeps {
  readonly cipher: ReasoningCipher;
  /** Stores the reasoning of a call. Never rejects. */
  readonly write: (callId: string, kept: KeptReasoning) => Promise<unknown>;
}

/** A call of the client, the content before it, and its sampled ids. */
interface KeptStep {
  readonly id: string;
  readonly before: string[][];
  readonly tools?: PlacedCall[];
  sampled?: string;
}

type Start = Extract<TurnEvent, { type: "part-start" }>;
type End = Extract<TurnEvent, { type: "part-end" }>;

export class TurnReasoning {
  readonly #options: KeepOptions;
  readonly #deps: KeepDeps;
  #part: Part | undefined;
  /** Text of the open reasoning part. */
  #text = "";
  /** Analysis messages since the last text for the user, or the last call. */
  #analysis: string[] = [];
  /** The lists before earlier texts for the user, since the last call. */
  #beforeTexts: string[][] = [];
  /** Calls that the gateway ran since the client's last call. */
  #tools: PlacedCall[] = [];
  #lastStep: KeptStep | undefined;
  /** `#lastStep` has not been stored: its call has not ended. */
  #isCallOpen = false;
  #hasRun = false;

  constructor(options: KeepOptions, deps: KeepDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** Notes the events and delivers them. */
  relayTo(consumer: Consumer<TurnEvent>): Consumer<TurnEvent> {
    return (event) => {
      const passed = this.pass(event);
      return passed instanceof Promise ? passed.then(consumer) : consumer(passed);
    };
  }

  /** Called after the last event. A client that has the id of a call may send it, even if the turn broke off within the call. */
  async leave(): Promise<void> {
    if (this.#isCallOpen && this.#lastStep) await this.#write(this.#lastStep, []);
  }

  /** Notes an event. Returns it, or a copy with encrypted text, when it may be delivered. */
  pass(event: TurnEvent): TurnEvent | Promise<TurnEvent> {
    switch (event.type) {
      case "part-start":
        return this.#startPart(event);
      case "part-delta":
        if (this.#part?.kind === "reasoning") this.#text += event.text;
        return event;
      case "part-end":
        if (this.#part?.kind === "tool-call") return this.#endCall(event);
        return this.#part?.kind === "reasoning" ? this.#endReasoning(event) : event;
      case "start":
      case "prefill":
        return event;
      case "builtin-result":
        return this.#passResult(event);
      case "end":
        return this.#writeReasoningAfterCalls()?.then(() => event) ?? event;
      default:
        return event satisfies never;
    }
  }

  #startPart(event: Start): TurnEvent | Promise<TurnEvent> {
    const { part } = event;
    this.#part = part;
    this.#text = "";
    if (part.kind === "preamble" || part.kind === "content") {
      this.#beforeTexts.push(this.#analysis);
      this.#analysis = [];
      return event;
    }
    if (part.kind !== "tool-call") return event;
    const step = this.#endStep(part.id);
    this.#lastStep = step;
    this.#isCallOpen = true;
    return this.#options.carry && this.#hasRun ? this.#sealStep(event, step) : event;
  }

  /** Returns the event once the call is stored, by one write: stores limit the writes of a key. */
  #endCall({ sampled, ...event }: End): TurnEvent | Promise<TurnEvent> {
    this.#isCallOpen = false;
    const step = this.#lastStep;
    if (step === undefined) return event;
    if (sampled) step.sampled = toStoredStep(sampled);
    return this.#write(step, []).then(() => event);
  }

  #endReasoning(event: End): TurnEvent | Promise<TurnEvent> {
    const text = this.#text;
    if (text === "") return event;
    this.#analysis.push(text);
    return this.#options.seal ? this.#sealInto(event, text) : event;
  }

  /** The content since the last call precedes this one. */
  #endStep(id: string): KeptStep {
    const tools = this.#tools;
    const before = [...this.#beforeTexts, this.#analysis];
    this.#tools = [];
    this.#beforeTexts = [];
    this.#analysis = [];
    return { id, before, ...(tools.length > 0 && { tools }) };
  }

  #passResult(event: GatewayCallResult): TurnEvent | Promise<TurnEvent> {
    this.#hasRun = true;
    this.#tools = withCall(this.#tools, {
      list: this.#beforeTexts.length,
      at: this.#analysis.length,
      call: toKeptCall(event),
    });
    return this.#options.seal || this.#options.carry ? this.#sealCall(event) : event;
  }

  /** Stores reasoning after the last call. */
  #writeReasoningAfterCalls(): Promise<unknown> | undefined {
    const after = [...this.#beforeTexts.flat(), ...this.#analysis];
    return this.#lastStep && after.length > 0 ? this.#write(this.#lastStep, after) : undefined;
  }

  /** Stores a call even without reasoning, to distinguish it from a call whose reasoning was lost. */
  #write({ id, ...placed }: KeptStep, after: string[]): Promise<unknown> {
    return this.#deps.write(id, { ...placed, after });
  }

  async #sealInto(event: End, reasoning: string): Promise<TurnEvent> {
    return { ...event, sealed: await this.#seal(reasoning, REASONING_PURPOSE) };
  }

  async #sealCall(event: GatewayCallResult): Promise<GatewayCallResult> {
    return { ...event, sealed: await this.#seal(JSON.stringify(toKeptCall(event)), CALL_PURPOSE) };
  }

  #seal(text: string, purpose: string): Promise<string> {
    return this.#deps.cipher.seal(text, { tenant: this.#options.tenant, purpose });
  }

  async #sealStep(event: Start, { id, before, tools = [] }: KeptStep): Promise<TurnEvent> {
    const places = tools.map(({ list, at }) => ({ list, at }));
    const step = { id, before, places };
    const sealed = await sealCarriedStep(this.#deps.cipher, this.#options.tenant, step);
    return { ...event, sealed };
  }
}

/** Adds a call. A later turn needs only the latest state of a tool. */
function withCall(tools: readonly PlacedCall[], placed: PlacedCall): PlacedCall[] {
  const { state } = placed.call;
  const others = tools.map((each) =>
    state !== undefined && each.call.state?.tool === state.tool
      ? { ...each, call: { messages: each.call.messages } }
      : each,
  );
  return [...others, placed];
}
