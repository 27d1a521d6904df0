/** The engine calls of a recorded turn. */
import type { Constraint, EngineProgress } from "../../engines/engine.ts";
import type { Sampling } from "../../engines/sampling.ts";
import { o200kHarmony, type TokenId } from "../../tokenizer/index.ts";
import { commonLength } from "../../common-length.ts";
import type { TimedTokens } from "./read-log.ts";
import type { CallNote, TurnRecording } from "./recording.ts";
import type { RecordedCall, RecordedRead } from "./schema.ts";
import { mapSliced, type RecordSlices } from "./build-slices.ts";

/** The calls from an index on, with the reads of the first one from a position on. */
export function* toCalls(
  { calls, rendered }: TurnRecording,
  since: { readonly call: number; readonly read: number },
): RecordSlices<RecordedCall[]> {
  const recorded: RecordedCall[] = [];
  let before: readonly TokenId[] = rendered?.prompt.ids ?? [];
  let written: readonly TokenId[] = [];
  for (const [index, call] of calls.entries()) {
    const { ids } = call.request.prompt;
    if (index >= since.call) {
      const kept = commonLength(before, ids);
      const appended = ids.slice(kept);
      const from = index === since.call ? since.read : 0;
      const reads = yield* mapSliced(call.reads.reads.slice(from), toRead);
      recorded.push(
        toCall(call, reads, { kept, appended, written: commonLength(written, appended) }),
      );
    }
    before = ids;
    // The ids are needed only for the next call.
    written = index + 1 < calls.length ? writtenIds(call.reads.reads, call.used) : [];
    yield;
  }
  return recorded;
}

type Continued = Pick<RecordedCall, "kept" | "written"> & { readonly appended: TokenId[] };

function toCall(
  call: CallNote,
  reads: RecordedRead[],
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
      ...(error !== undefined && { error: toErrorText(error) }),
    })),
    engine: call.engine ?? null,
    backend: call.backend ?? null,
    asked: call.asked,
    opened: call.opened ?? null,
    ...(call.progress && { prefill: toPrefill(call.progress) }),
    firstToken: call.firstToken ?? null,
    ended: call.ended ?? null,
    reads,
    used: call.used,
    finish: finish?.reason ?? null,
    nativeReason: finish?.nativeReason ?? null,
    ...(finish?.usage && { usage: { ...finish.usage } }),
    ...(call.error !== undefined && { error: toErrorText(call.error) }),
  };
}

function toPrefill({
  total,
  cached,
  processed,
  elapsedMs,
}: EngineProgress): RecordedCall["prefill"] {
  return { total, cached, processed, elapsedMs };
}

/** An error of an engine, a turn or a request as one sentence for a record, without causes and stacks. */
export function toErrorText(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const kind = "kind" in error && typeof error.kind === "string" ? ` (${error.kind})` : "";
  return `${error.message}${kind}`;
}

/** The numeric parameters. */
function toSampling(sampling: Sampling): Record<string, number> {
  const entries: [string, unknown][] = Object.entries(sampling);
  return Object.fromEntries(
    entries.flatMap(([name, value]) => (typeof value === "number" ? [[name, value]] : [])),
  );
}

function toRead({ ms, tokens }: TimedTokens): RecordedRead {
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

/** The ids of the used units, with text encoded as in the transcript. */
function writtenIds(reads: readonly TimedTokens[], used: number): TokenId[] {
  const tokenizer = o200kHarmony();
  const ids: TokenId[] = [];
  let text = "";
  let left = used;
  for (const { tokens } of reads) {
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
