/** An engine that returns the recorded output of another engine, call by call. */
import { EngineError, type EngineErrorKind } from "../../engines/engine-error.ts";
import type {
  Capabilities,
  CompletionRequest,
  Constraint,
  Engine,
  EngineEvent,
  EngineTokens,
} from "../../engines/engine.ts";
import { ALL_SAMPLING } from "../../engines/sampling.ts";
import type { RecordedCall, RecordedRead, TurnRecord } from "../../telemetry/record/schema.ts";
import { contentIds, contentText } from "./read-record.ts";

/** Returns the calls of the record in order, for any prompts. A call beyond them fails. */
export function createRecordedEngine({ calls, settings, engine }: TurnRecord): Engine {
  let next = 0;
  const capabilities = toCapabilities(settings);
  return {
    name: engine ?? "recorded",
    capabilities,
    probe: () => Promise.resolve({ description: "a recorded turn", capabilities }),
    complete(request: CompletionRequest, signal: AbortSignal) {
      const call = calls[next++];
      if (call === undefined) throw new EngineError("closed", BEYOND);
      return play(call, request, signal);
    },
  };
}

const BEYOND = "the record has no further engine call";

async function* play(
  call: RecordedCall,
  request: CompletionRequest,
  signal: AbortSignal,
): AsyncGenerator<EngineEvent> {
  signal.throwIfAborted();
  for (const { backend, error } of call.attempts) {
    request.onAttempt?.({ type: "attempt", backend });
    if (error === undefined) continue;
    request.onAttempt?.({ type: "attempt-failed", backend, error: toError(error) });
  }
  if (call.opened === null) throw toError(call.error ?? BEYOND);
  yield { type: "open" };
  for (const read of call.reads) {
    signal.throwIfAborted();
    yield toTokens(read);
  }
  if (call.finish === null) {
    throw toError(call.error ?? "the recorded call was cut here by the gateway");
  }
  yield {
    type: "finish",
    reason: call.finish,
    nativeReason: call.nativeReason,
    ...(call.usage && { usage: withoutUndefined(call.usage) }),
  };
}

const KINDS: readonly EngineErrorKind[] = [
  "unreachable",
  "unavailable",
  "timeout",
  "overloaded",
  "loading",
  "rate-limit",
  "tenant-limit",
  "auth",
  "not-found",
  "context-length",
  "bad-request",
  "server-error",
  "closed",
];

/** The kind of error, read from the end of the sentence in the record. */
function toError(sentence: string): EngineError {
  const [, message = sentence, name] = /^(.*) \(([a-z-]+)\)$/s.exec(sentence) ?? [];
  const kind = KINDS.find((each) => each === name);
  return kind === undefined ? new EngineError("closed", sentence) : new EngineError(kind, message);
}

function toTokens(read: RecordedRead): EngineTokens {
  if ("ids" in read) {
    return {
      type: "ids",
      ids: contentIds(read.ids),
      ...(read.logprobs && { logprobs: read.logprobs }),
    };
  }
  if ("text" in read) {
    const { tokens } = read;
    return { type: "text", text: contentText(read.text), ...(tokens !== undefined && { tokens }) };
  }
  const pieces = read.pieces.map((piece) =>
    "text" in piece ? { text: contentText(piece.text) } : piece,
  );
  return { type: "pieces", pieces, counts: read.counts };
}

function withoutUndefined({
  promptTokens,
  cachedTokens,
  completionTokens,
}: NonNullable<RecordedCall["usage"]>) {
  return {
    ...(promptTokens !== undefined && { promptTokens }),
    ...(cachedTokens !== undefined && { cachedTokens }),
    ...(completionTokens !== undefined && { completionTokens }),
  };
}

const CONSTRAINTS: readonly Constraint["type"][] = [
  "json-schema",
  "json-object",
  "structural-tag",
  "token-grammar",
  "grammar",
  "lark",
  "regex",
  "choice",
];

function toCapabilities(settings: TurnRecord["settings"]): Capabilities {
  if (settings === null) throw new Error("The record has no turn: its request was refused.");
  const { constraints, sampling, showsMarkers, ...others } = settings.capabilities;
  return {
    ...others,
    ...(showsMarkers !== undefined && { showsMarkers }),
    constraints: CONSTRAINTS.filter((each) => constraints.includes(each)),
    sampling: ALL_SAMPLING.filter((each) => sampling.includes(each)),
  };
}
