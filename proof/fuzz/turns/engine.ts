/** The model behind the `Engine` interface, in every form of output, with a record of all calls. */
import type { EngineTokens, EnginePiece } from "../../../src/engines/engine.ts";
import {
  type Capabilities,
  type CompletionRequest,
  type Engine,
  EngineError,
  type EngineEvent,
} from "../../../src/index.ts";
import { isSpecial, o200kHarmony, type TokenId } from "../../../src/tokenizer/index.ts";
import { spelledIds } from "../../../test/helpers/spelled.ts";
import type { Case, EngineTraits, Wire } from "./case.ts";
import { type Completion, writeCompletion } from "./model.ts";

/** The record of one engine call. */
export interface CallRecord {
  /** The index of the call's choice among `n`. */
  readonly choice: number;
  readonly request: CompletionRequest;
  /** The prompt as the engine reads it: as text, with spelled control tokens as real ones. */
  readonly prompt: readonly TokenId[];
  readonly completion: Completion;
  /** The number of ids of the completion that were read. */
  read: number;
  /** The completion reached its finish. */
  isFinished: boolean;
}

/** A request in flight, and the plan for its completion. */
export interface Session {
  readonly case: Case;
  readonly batches: readonly number[];
  readonly calls: CallRecord[];
  /** Requests that a server would have rejected, with the reason. */
  readonly refusals: string[];
  /** Completions that were neither finished nor aborted. */
  open: number;
}

/** The seed of the first choice; choice i has this plus i. */
export const FIRST_SEED = 1000;

export function createSession(given: Case, batches: readonly number[]): Session {
  return { case: given, batches, calls: [], refusals: [], open: 0 };
}

export function toCapabilities(wire: Wire, traits: EngineTraits): Capabilities {
  return {
    idsIn: wire === "ids" || wire === "pieces",
    idsOut: wire === "ids" ? "exact" : wire === "pieces" ? "lossy" : "none",
    // The probe has seen markers: one answer that is truncated before its first marker does not make the engine
    // unusable.
    ...(wire === "markers" && { showsMarkers: true }),
    stopIdVisible: traits.showsStopId && wire !== "text",
    stopIds: traits.honoursStopIds,
    constraints: traits.constraints,
    logprobs: wire === "ids",
    sampling: [
      "temperature",
      "topP",
      "seed",
      ...(traits.honoursBias ? (["logitBias"] as const) : []),
    ],
  };
}

/** An engine that answers each request by its session, found by the request's id. */
export function createSessionEngine(
  capabilities: Capabilities,
  sessions: ReadonlyMap<string, Session>,
): Engine {
  return {
    name: "fuzz",
    capabilities,
    probe: () => Promise.resolve({ description: "fuzz", capabilities }),
    complete(request, signal) {
      const session = sessions.get(request.requestId);
      if (session === undefined) throw new Error(`no session ${request.requestId}`);
      return complete(session, request, signal);
    },
  };
}

async function* complete(
  session: Session,
  request: CompletionRequest,
  signal: AbortSignal,
): AsyncGenerator<EngineEvent> {
  const record = beginCall(session, request);
  const { engine, wire } = session.case;
  const { completion } = record;
  session.open++;
  try {
    await Promise.resolve();
    signal.throwIfAborted();
    yield { type: "open" };
    const ids = shownIds(completion, engine);
    const toTokens = createTokenWriter(wire, request);
    let at = 0;
    for (let read = 0; at < ids.length; read++) {
      const batch = ids.slice(at, at + (session.batches[read % session.batches.length] ?? 1));
      at += batch.length;
      record.read = at;
      const tokens = toTokens(batch, at === ids.length);
      if (tokens !== undefined) yield tokens;
      signal.throwIfAborted();
    }
    record.read = completion.ids.length;
    record.isFinished = true;
    yield {
      type: "finish",
      reason: completion.reason,
      nativeReason: completion.reason,
      ...(engine.reportsUsage && {
        usage: {
          promptTokens: record.prompt.length,
          completionTokens: completion.ids.length,
          cachedTokens: 0,
        },
      }),
    };
  } finally {
    session.open--;
  }
}

/** Runs the model. Rejects requests that a server would reject. */
export function beginCall(session: Session, request: CompletionRequest): CallRecord {
  const { case: given, calls } = session;
  const { engine, wire } = given;
  const isText = wire === "markers" || wire === "text";
  const prompt = isText ? spelledIds(request.prompt.text()) : request.prompt.ids;
  const total = prompt.length + request.maxTokens;
  if (!(request.maxTokens >= 1)) throw refuse(session, `max_tokens is ${request.maxTokens}`);
  if (engine.contextLength !== undefined && total > engine.contextLength) {
    throw refuse(session, `${total} tokens asked of ${engine.contextLength}`);
  }
  const choice = (request.sampling.seed ?? FIRST_SEED) - FIRST_SEED;
  const first = calls.find((each) => each.choice === choice);
  const plan = given.choices[choice % given.choices.length] ?? [];
  const isCut = first === undefined && engine.cutAfter !== undefined;
  const maxTokens = isCut ? Math.min(request.maxTokens, engine.cutAfter ?? 0) : request.maxTokens;
  const completion = writeCompletion(given, plan, prompt, first?.prompt.length ?? prompt.length, {
    ...request,
    maxTokens,
  });
  const record = { choice, request, prompt, completion, read: 0, isFinished: false };
  calls.push(record);
  if (calls.length > MAX_CALLS) throw refuse(session, "asked again and again");
  return record;
}

function refuse(session: Session, reason: string): EngineError {
  session.refusals.push(reason);
  return new EngineError("context-length", reason);
}

/** Maximum number of calls, more than any turn needs. */
const MAX_CALLS = 64;

/** The ids without the stop token, if the engine hides it. */
export function shownIds({ ids, reason }: Completion, engine: EngineTraits): readonly TokenId[] {
  return engine.showsStopId || reason === "length" ? ids : ids.slice(0, -1);
}

type TokenWriter = (ids: readonly TokenId[], isLast: boolean) => EngineTokens | undefined;

/** The output for these ids; undefined if there is none yet. */
export function createTokenWriter(wire: Wire, request: CompletionRequest): TokenWriter {
  const decoder = o200kHarmony().createDecoder();
  const decode = (ids: readonly TokenId[], isLast: boolean): string => {
    let text = "";
    for (const id of ids) {
      if (!isSpecial(id)) text += decoder.push(id);
      else text += decoder.end() + (wire === "text" ? "" : o200kHarmony().decode([id]));
    }
    return isLast ? text + decoder.end() : text;
  };
  switch (wire) {
    case "ids":
      return (ids) => ({
        type: "ids",
        ids,
        ...(request.topLogprobs !== undefined && {
          logprobs: ids.map((id) => ({
            id,
            logprob: -id / 1e6,
            top: [{ id, logprob: -id / 1e6 }],
          })),
        }),
      });
    case "pieces": {
      // A token that is part of a character has no event: the next one counts it.
      let waiting = 0;
      return (ids, isLast) => {
        const pieces: EnginePiece[] = [];
        const counts: number[] = [];
        const push = (piece: EnginePiece): void => {
          pieces.push(piece);
          counts.push(waiting);
          waiting = 0;
        };
        const pushText = (text: string): void => {
          if (text !== "") push({ text });
        };
        for (const id of ids) {
          if (isSpecial(id)) pushText(decoder.end());
          waiting++;
          if (isSpecial(id)) push({ special: id });
          else pushText(decoder.push(id));
        }
        if (isLast) pushText(decoder.end());
        return pieces.length === 0 ? undefined : { type: "pieces", pieces, counts };
      };
    }
    case "markers":
    case "text":
      return (ids, isLast) => {
        const text = decode(ids, isLast);
        return text === "" ? undefined : { type: "text", text };
      };
    default:
      return wire satisfies never;
  }
}
