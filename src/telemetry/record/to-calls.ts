/** The engine calls of a recorded turn. */
import type { Constraint, EngineTokens, Sampling } from "../../engines/engine.ts";
import { o200kHarmony, type TokenId } from "../../tokenizer/index.ts";
import { describeError } from "./describe-error.ts";
import type { CallNote, TurnRecording } from "./recording.ts";
import type { RecordedCall, RecordedRead } from "./schema.ts";

/** What each read of a call gave, plain ids included. */
export function toReads({ reads }: CallNote): EngineTokens[] {
  return reads.map((each) => (typeof each === "number" ? { type: "ids", ids: [each] } : each));
}

/** @param reads of each call, as {@link toReads} gives them. */
export function toCalls(
  { calls, rendered }: TurnRecording,
  reads: readonly (readonly EngineTokens[])[],
): RecordedCall[] {
  let before: readonly TokenId[] = rendered?.prompt.ids ?? [];
  let written: readonly TokenId[] = [];
  return calls.map((call, index) => {
    const ids = call.request.prompt.ids;
    const kept = commonLength(before, ids);
    const appended = ids.slice(kept);
    const own = commonLength(written, appended);
    before = ids;
    written = writtenIds(reads[index] ?? [], call.used);
    return toCall(call, reads[index] ?? [], { kept, appended, written: own });
  });
}

type Continued = Pick<RecordedCall, "kept" | "written"> & { readonly appended: TokenId[] };

function toCall(
  call: CallNote,
  reads: readonly EngineTokens[],
  { kept, appended, written }: Continued,
): RecordedCall {
  const { request, finish } = call;
  const { sampling, constraint, topLogprobs } = request;
  const { logitBias } = sampling;
  return {
    decision: call.decision < 0 ? null : call.decision,
    stage: call.stage,
    kept,
    appended,
    written,
    promptTokens: kept + appended.length,
    maxTokens: Number.isFinite(request.maxTokens) ? request.maxTokens : null,
    stopIds: [...request.stopIds],
    ...(constraint && { constraint: { type: constraint.type, text: constraintText(constraint) } }),
    sampling: toSampling(sampling),
    ...(logitBias && { logitBias: Object.fromEntries(logitBias) }),
    ...(topLogprobs !== undefined && { topLogprobs }),
    attempts: call.attempts.map(({ ms, backend, error }) => ({
      ms,
      backend,
      ...(error !== undefined && { error: describeError(error) }),
    })),
    engine: call.engine ?? null,
    backend: call.backend ?? null,
    asked: call.asked,
    opened: call.opened ?? null,
    firstToken: call.firstToken ?? null,
    ended: call.ended ?? null,
    reads: reads.map((tokens, index) => toRead(tokens, call.times[index] ?? 0)),
    used: call.used,
    finish: finish?.reason ?? null,
    nativeReason: finish?.nativeReason ?? null,
    ...(finish?.usage && { usage: { ...finish.usage } }),
    ...(call.error !== undefined && { error: describeError(call.error) }),
  };
}

/** Everything that is a number. */
function toSampling(sampling: Sampling): Record<string, number> {
  const entries: [string, unknown][] = Object.entries(sampling);
  return Object.fromEntries(
    entries.flatMap(([name, value]) => (typeof value === "number" ? [[name, value]] : [])),
  );
}

function toRead(tokens: EngineTokens, ms: number): RecordedRead {
  switch (tokens.type) {
    case "ids": {
      const logprobs = tokens.logprobs?.map((each) => ({
        ...each,
        top: each.top.map((alternative) => ({ ...alternative })),
      }));
      return { ms, ids: [...tokens.ids], ...(logprobs && { logprobs }) };
    }
    case "pieces":
      return {
        ms,
        pieces: tokens.pieces.map((piece) => ({ ...piece })),
        counts: [...tokens.counts],
      };
    case "text":
      return {
        ms,
        text: tokens.text,
        ...(tokens.tokens !== undefined && { tokens: tokens.tokens }),
      };
    default:
      return tokens satisfies never;
  }
}

function constraintText(constraint: Constraint): string {
  switch (constraint.type) {
    case "json-schema":
      return constraint.schema;
    case "json-object":
      return "";
    case "structural-tag":
      return constraint.tag;
    case "token-grammar":
    case "grammar":
    case "lark":
      return constraint.grammar;
    case "regex":
      return constraint.pattern;
    case "choice":
      return constraint.options.join("\n");
    default:
      return constraint satisfies never;
  }
}

function commonLength(a: readonly TokenId[], b: readonly TokenId[]): number {
  const most = Math.min(a.length, b.length);
  let length = 0;
  while (length < most && a[length] === b[length]) length++;
  return length;
}

/** The ids of the used units, text encoded as the transcript does it. */
function writtenIds(reads: readonly EngineTokens[], used: number): TokenId[] {
  const tokenizer = o200kHarmony();
  const ids: TokenId[] = [];
  let text = "";
  let left = used;
  for (const tokens of reads) {
    if (left <= 0) break;
    switch (tokens.type) {
      case "ids":
        ids.push(...tokens.ids.slice(0, left));
        left -= tokens.ids.length;
        break;
      case "pieces":
        for (const piece of tokens.pieces.slice(0, left)) {
          if ("text" in piece) {
            text += piece.text;
            continue;
          }
          ids.push(...tokenizer.encode(text), piece.special);
          text = "";
        }
        left -= tokens.pieces.length;
        break;
      case "text":
        text += tokens.text.slice(0, left);
        left -= tokens.text.length;
        break;
      default:
        tokens satisfies never;
    }
  }
  return [...ids, ...tokenizer.encode(text)];
}
