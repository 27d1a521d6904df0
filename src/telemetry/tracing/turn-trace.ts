/** The spans of one turn, from its facts and events. */
import { type Attributes, type Context, type Span, SpanKind, trace } from "@opentelemetry/api";
import type { CompletionRequest, EngineFinish, EngineUsage } from "../../engines/engine.ts";
import type { Model } from "../../models/models.ts";
import type { OnFact } from "../../turn/facts.ts";
import type { Turn, TurnEnd, TurnEvent } from "../../turn/turn.ts";
import * as names from "./conventions.ts";
import { INPUT_MESSAGES, OUTPUT_MESSAGES } from "./conventions.ts";
import { failSpan, toErrorType, toTraceHeaders, tracer } from "./tracer.ts";
import { bodyText, offersFunctions } from "../../harmony/body.ts";
import type { Message } from "../../harmony/conversation.ts";

interface TurnTraceOptions {
  readonly span: Span;
  /** The context with `span` as the active one. */
  readonly own: Context;
  readonly turn: Turn;
  readonly model: Model;
  readonly capturesContent: boolean;
}

/** Maximum length of a tool's or conversation's name, which clients and servers choose. */
const MAX_NAME = 128;

export class TurnTrace {
  readonly #options: TurnTraceOptions;
  readonly #startedAt = performance.now();
  readonly #content: CapturedContent | undefined;
  #call: OpenCall | undefined;
  #tool: Span | undefined;
  #toolName = "";
  #decision = "";
  #hasOutput = false;
  #isOver = false;
  /** Trace headers for the current engine call. */
  #headers: Readonly<Record<string, string>>;

  constructor(options: TurnTraceOptions) {
    this.#options = options;
    const { span, own, turn, model, capturesContent } = options;
    this.#headers = toTraceHeaders(own);
    span.setAttributes(toTurnAttributes(turn, model));
    if (capturesContent && !turn.isPrivate)
      this.#content = new CapturedContent(turn.prompt.messages);
  }

  readonly headers = (): Readonly<Record<string, string>> => this.#headers;

  readonly onFact: OnFact = (fact) => {
    switch (fact.type) {
      case "ids":
      case "pieces":
      case "text":
        if (this.#call?.hasTokens === false) this.#call.firstTokens();
        return;
      case "decided":
        this.#decision = fact.decision.type;
        this.#endTool();
        if (fact.decision.type === "run-tool") this.#startTool();
        return;
      case "called":
        this.#startCall(fact.request);
        return;
      case "attempt":
        this.#call?.span.setAttribute(names.BACKEND, fact.backend);
        return;
      case "attempt-failed":
        this.#call?.span.addEvent("harmony_gateway.attempt_failed", {
          [names.BACKEND]: fact.backend,
          [names.ERROR_TYPE]: toErrorType(fact.error),
        });
        return;
      case "finish":
        this.#call?.finish(fact);
        this.#call = undefined;
        return;
      case "call-failed":
        this.#call?.fail(fact.error);
        this.#call = undefined;
        return;
      case "rendered":
      case "open":
      case "progress":
      case "emitted":
      case "parsed":
      case "parsed-header":
      case "message-ended":
      case "restarted":
      case "read-as":
      case "cited":
        return;
      default:
        fact satisfies never;
    }
  };

  see(event: TurnEvent): void {
    this.#content?.see(event);
    if (event.type === "part-start") {
      if (event.part.kind === "builtin-call") this.#toolName = event.part.name;
      if (this.#hasOutput) return;
      this.#hasOutput = true;
      const seconds = (performance.now() - this.#startedAt) / 1000;
      this.#options.span.setAttribute(names.FIRST_CHUNK_SECONDS, seconds);
    } else if (event.type === "builtin-result") {
      if (event.failed) this.#tool?.setAttribute(names.ERROR_TYPE, "tool_error");
      this.#endTool();
    } else if (event.type === "end") {
      this.#options.span.setAttributes(toEndAttributes(event));
      if (event.failure) this.#options.span.setAttribute(names.ERROR_TYPE, event.failure.kind);
      this.end("completed");
    }
  }

  /** Idempotent: the first outcome counts. */
  end(outcome: "completed" | "failed" | "rejected" | "cancelled", error?: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { span } = this.#options;
    this.#call?.cut();
    this.#call = undefined;
    this.#endTool();
    if (this.#content) span.setAttributes(this.#content.toAttributes());
    span.setAttribute(names.OUTCOME, outcome);
    if (outcome === "failed") failSpan(span, error);
    span.end();
  }

  #startCall(request: CompletionRequest): void {
    this.#call?.cut();
    const { own, model } = this.#options;
    const attributes = { ...toCallAttributes(request, model), [names.DECISION]: this.#decision };
    const kind = SpanKind.CLIENT;
    const span = tracer().startSpan(`text_completion ${model.id}`, { kind, attributes }, own);
    this.#call = new OpenCall(span);
    this.#headers = toTraceHeaders(trace.setSpan(own, span));
  }

  #startTool(): void {
    const name = this.#toolName.slice(0, MAX_NAME);
    const attributes = { [names.OPERATION]: "execute_tool", [names.TOOL_NAME]: name };
    this.#tool = tracer().startSpan(`execute_tool ${name}`, { attributes }, this.#options.own);
  }

  #endTool(): void {
    this.#tool?.end();
    this.#tool = undefined;
  }
}

/** One engine call. */
class OpenCall {
  readonly span: Span;
  hasTokens = false;
  readonly #startedAt = performance.now();

  constructor(span: Span) {
    this.span = span;
  }

  firstTokens(): void {
    this.hasTokens = true;
    const seconds = (performance.now() - this.#startedAt) / 1000;
    this.span.setAttribute(names.FIRST_CHUNK_SECONDS, seconds);
  }

  finish({ reason, usage }: EngineFinish): void {
    this.span.setAttributes({
      [names.FINISH_REASONS]: [reason],
      [names.OUTCOME]: "completed",
      ...toUsageAttributes(usage),
    });
    this.span.end();
  }

  /** Marks the call as cut: the gateway has read enough. */
  cut(): void {
    this.span.setAttribute(names.OUTCOME, "cut");
    this.span.end();
  }

  fail(error: unknown): void {
    this.span.setAttribute(names.OUTCOME, "failed");
    failSpan(this.span, error);
    this.span.end();
  }
}

function toTurnAttributes(turn: Turn, model: Model): Attributes {
  const { answer, affinity, maxOutputTokens, sampling } = turn;
  return {
    [names.OPERATION]: "chat",
    [names.PROVIDER]: model.provider,
    [names.REQUEST_MODEL]: model.id,
    [names.REQUEST_ID]: turn.id,
    [names.OUTPUT_TYPE]: answer.type === "text" ? "text" : "json",
    [names.TEMPERATURE]: sampling.temperature,
    [names.TOP_P]: sampling.topP,
    [names.TOP_K]: sampling.topK,
    ...(sampling.seed !== undefined && { [names.SEED]: sampling.seed }),
    ...(maxOutputTokens !== undefined && { [names.MAX_TOKENS]: maxOutputTokens }),
    ...(affinity !== undefined && { [names.CONVERSATION]: affinity.slice(0, MAX_NAME) }),
  };
}

function toEndAttributes({ finish, usage, recoveries }: TurnEnd): Attributes {
  return {
    [names.FINISH_REASONS]: [finish],
    [names.INPUT_TOKENS]: usage.promptTokens,
    [names.OUTPUT_TOKENS]: usage.completionTokens,
    [names.CACHED_TOKENS]: usage.cachedTokens,
    [names.REASONING_TOKENS]: usage.reasoningTokens,
    [names.ENGINE_CALLS]: usage.engineCalls,
    ...(recoveries.size > 0 && {
      [names.TURN_RECOVERIES]: [...recoveries].map(([name, count]) => `${name}=${count}`),
    }),
  };
}

function toCallAttributes(request: CompletionRequest, model: Model): Attributes {
  const { sampling, maxTokens } = request;
  return {
    [names.OPERATION]: "text_completion",
    [names.PROVIDER]: model.provider,
    [names.REQUEST_MODEL]: model.id,
    // An unknown limit is infinite, which OTLP cannot represent.
    ...(Number.isFinite(maxTokens) && { [names.MAX_TOKENS]: maxTokens }),
    [names.TEMPERATURE]: sampling.temperature,
    [names.TOP_P]: sampling.topP,
    ...(request.constraint && { "harmony_gateway.constraint": request.constraint.type }),
  };
}

function toUsageAttributes(usage: EngineUsage | undefined): Attributes {
  return {
    ...(usage?.promptTokens !== undefined && { [names.INPUT_TOKENS]: usage.promptTokens }),
    ...(usage?.completionTokens !== undefined && {
      [names.OUTPUT_TOKENS]: usage.completionTokens,
    }),
    ...(usage?.cachedTokens !== undefined && { [names.CACHED_TOKENS]: usage.cachedTokens }),
  };
}

/** Maximum characters of each attribute's texts. The latest messages are kept, and the beginning of the answer. */
const MAX_CHARACTERS = 65_536;

interface WrittenPart {
  readonly type: "text" | "reasoning" | "tool_call";
  readonly name?: string;
  content: string;
}

class CapturedContent {
  readonly #messages: readonly Message[];
  readonly #parts: WrittenPart[] = [];
  #left = MAX_CHARACTERS;

  constructor(messages: readonly Message[]) {
    this.#messages = messages;
  }

  see(event: TurnEvent): void {
    if (event.type === "part-start") {
      const { part } = event;
      const isCall = part.kind === "tool-call" || part.kind === "builtin-call";
      const type = isCall ? "tool_call" : part.kind === "reasoning" ? "reasoning" : "text";
      this.#parts.push({ type, content: "", ...(isCall && { name: part.name }) });
    }
    const last = this.#parts.at(-1);
    if (event.type !== "part-delta" || last === undefined || this.#left <= 0) return;
    last.content += event.text.slice(0, this.#left);
    this.#left -= event.text.length;
  }

  toAttributes(): Attributes {
    return {
      [INPUT_MESSAGES]: JSON.stringify(toInput(this.#messages)),
      [OUTPUT_MESSAGES]: JSON.stringify([{ role: "assistant", parts: this.#parts }]),
    };
  }
}

function toInput(messages: readonly Message[]): object[] {
  const input: object[] = [];
  const hasFunctions = offersFunctions(messages);
  let left = MAX_CHARACTERS;
  for (const message of messages.toReversed()) {
    if (left <= 0) break;
    const content = bodyText(message, hasFunctions).slice(0, left);
    left -= content.length;
    input.unshift({ role: message.role, parts: [{ type: "text", content }] });
  }
  return input;
}
