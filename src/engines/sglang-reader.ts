/**
 * Reads the stream of SGLang's `/generate`. Its events are cumulative unless the server was started with
 * `--incremental-streaming-output`.
 */
import * as z from "zod";

import type { TokenId } from "../tokenizer/tokenizer.ts";
import type { CompletionReader } from "./completion-decoder.ts";
import { type EngineFinish, type EngineTokens, NO_LOGPROB, type TokenLogprob } from "./engine.ts";
import { readFrame } from "./frame.ts";
import { readIdList } from "./id-list.ts";
import type { PromptEcho } from "./prompt-echo.ts";
import type { Server } from "./server.ts";
import { lazy } from "../lazy.ts";

/** `[logprob, id, text or null]`. */
const tokenLogprob = lazy(() => z.tuple([z.number().nullable(), z.int()], z.unknown()));

const sglangFrame = z.lazy(() =>
  z.object({
    text: z.string().nullish(),
    output_ids: z.array(z.int().nonnegative()).nullish(),
    meta_info: z.object({
      id: z.unknown().optional(),
      finish_reason: z
        .object({
          type: z.string(),
          matched: z.unknown().optional(),
          message: z.string().nullish(),
          status_code: z.number().nullish(),
        })
        .nullish(),
      prompt_tokens: z.number().nullish(),
      completion_tokens: z.number().nullish(),
      cached_tokens: z.number().nullish(),
      output_token_logprobs: z.array(tokenLogprob()).nullish(),
      output_top_logprobs: z.array(z.array(tokenLogprob()).nullable()).nullish(),
    }),
  }),
);

type Meta = z.infer<typeof sglangFrame>["meta_info"];
type FinishReason = NonNullable<Meta["finish_reason"]>;

/** @param topLogprobs number of requested alternatives; undefined without log probabilities. */
export function createSglangReader(
  server: Server,
  echo: PromptEcho,
  topLogprobs?: number,
): CompletionReader {
  let ids: TokenId[] = [];
  let logprobs: TokenLogprob[] = [];
  let text = "";
  /** Ids of the whole completion, including those that were drained. */
  let idCount = 0;
  let lastId: TokenId | undefined;
  let textSoFar = "";
  /** Unknown until the second event: the first is the same either way. */
  let cumulative: boolean | undefined;
  let firstIds: readonly TokenId[] = [];
  const cursor = createCursor();
  /** Reported with every event, passed on with the first tokens. */
  let cachedTokens: number | undefined;
  let isFirst = true;
  let finish: EngineFinish | undefined;

  const pushIds = (more: readonly TokenId[]): void => {
    for (const id of more) ids.push(id);
    idCount += more.length;
    lastId = more.at(-1) ?? lastId;
  };

  /** The new part of a list. Lists of log probabilities are cumulative when the ids are. */
  const unseen = <T>(list: readonly T[], seen: number): readonly T[] =>
    cumulative === true ? list.slice(seen) : list;

  const pushText = (frameText: string): void => {
    if (textSoFar !== "") cumulative ??= frameText.startsWith(textSoFar);
    const more = cumulative === true ? frameText.slice(textSoFar.length) : frameText;
    text += more;
    textSoFar += more;
  };

  const expectOwn = (meta: Meta): void => {
    // A refused request has no tokens.
    if (meta.finish_reason?.type === "abort") return;
    echo.expectName(meta.id);
    echo.expectCount(meta.prompt_tokens);
  };

  const pushEnd = ({ type, matched, message, status_code: status }: FinishReason): void => {
    if (type === "abort") {
      throw server.toError({
        message: message ?? "the completion was aborted",
        ...(status != null && { status }),
      });
    }
    if (idCount > 0 && typeof matched === "number" && lastId !== matched) {
      pushIds([matched]);
      // A placeholder that no client sees: it keeps the list parallel to the ids.
      if (topLogprobs !== undefined) logprobs.push({ id: matched, logprob: NO_LOGPROB, top: [] });
    }
    finish = { type: "finish", reason: type === "length" ? "length" : "stop", nativeReason: type };
  };

  return {
    push(event) {
      if (cumulative === true && topLogprobs === undefined) {
        const before = ids.length;
        if (cursor.readNewIds(event, ids)) {
          idCount += ids.length - before;
          lastId = ids.at(-1) ?? lastId;
          return;
        }
      }
      const frame = readFrame(event, sglangFrame, server);
      const { meta_info: meta, output_ids: frameIds } = frame;
      expectOwn(meta);
      if (isFirst) cachedTokens = meta.cached_tokens ?? undefined;
      isFirst = false;
      if (frameIds == null) pushText(frame.text ?? "");
      else {
        if (idCount === 0) firstIds = frameIds;
        else cumulative ??= repeats(firstIds, frameIds, meta.completion_tokens ?? 0);
        if (topLogprobs !== undefined) {
          logprobs.push(...toLogprobs(meta, topLogprobs, (list) => unseen(list, idCount)));
        }
        pushIds(unseen(frameIds, idCount));
        if (cumulative === true && topLogprobs === undefined) cursor.remember(frameIds);
      }
      if (meta.finish_reason == null) return;
      pushEnd(meta.finish_reason);
      if (finish !== undefined) finish = { ...finish, usage: toUsage(meta) };
    },

    drain(): EngineTokens | undefined {
      if (ids.length > 0) {
        const tokens: EngineTokens = {
          type: "ids",
          ids,
          ...(topLogprobs !== undefined && logprobs.length === ids.length && { logprobs }),
          ...(cachedTokens !== undefined && { cachedTokens }),
        };
        cachedTokens = undefined;
        ids = [];
        logprobs = [];
        return tokens;
      }
      if (text === "") return undefined;
      const tokens: EngineTokens = { type: "text", text };
      text = "";
      return tokens;
    },

    finish: () => finish,
  };
}

/** Whether the second event repeats the ids of the first, rather than happening to begin with the same ones. */
function repeats(
  first: readonly TokenId[],
  second: readonly TokenId[],
  completionTokens: number,
): boolean {
  return (
    second.length > completionTokens - first.length && first.every((id, i) => second[i] === id)
  );
}

/**
 * Reads only the new ids of a cumulative event, by skipping as many characters as the ids took in the last one.
 * Parsing every event of a 4,000-token answer costs 110 ms in all, this 4 ms.
 */
function createCursor(): {
  /** Sets the ids to skip: those of the event that was parsed last. */
  remember(ids: readonly TokenId[]): void;
  /** Returns false, with nothing read, for an event that ends the completion or has another layout. */
  readNewIds(event: string, into: TokenId[]): boolean;
} {
  let seenChars = 0;
  let keyAt = 0;
  return {
    remember(ids) {
      seenChars = ids.join(",").length;
    },
    readNewIds(event, into) {
      // The text before the ids only grows, so the key never stands further to the left.
      const at = event.indexOf(IDS_KEY, keyAt);
      if (at === -1) return false;
      const begin = at + IDS_KEY.length;
      const next = begin + seenChars;
      // Where the new ids begin there must be a comma or the end of the list.
      const separator = event[next];
      if (separator !== "," && separator !== "]") return false;
      const end = separator === "]" ? next : event.indexOf("]", next);
      if (end === -1 || !event.includes('"finish_reason":null', end)) return false;
      if (separator === "," && readIdList(event, next + 1, into) === -1) return false;
      keyAt = at;
      seenChars = end - begin;
      return true;
    },
  };
}

const IDS_KEY = '"output_ids":[';

function toUsage(meta: Meta): NonNullable<EngineFinish["usage"]> {
  const { prompt_tokens: prompt, cached_tokens: cached, completion_tokens: completion } = meta;
  return {
    ...(prompt != null && { promptTokens: prompt }),
    ...(cached != null && { cachedTokens: cached }),
    ...(completion != null && { completionTokens: completion }),
  };
}

function toLogprobs(
  meta: Meta,
  topLogprobs: number,
  unseen: <T>(list: readonly T[]) => readonly T[],
): TokenLogprob[] {
  const tops = unseen(meta.output_top_logprobs ?? []);
  return unseen(meta.output_token_logprobs ?? []).map(([logprob, id], i) => ({
    id,
    logprob: logprob ?? NO_LOGPROB,
    top: (tops[i] ?? [])
      .slice(0, topLogprobs)
      .map(([other, otherId]) => ({ id: otherId, logprob: other ?? NO_LOGPROB })),
  }));
}
