/**
 * Diagnoses why the prompt of a reply could not use the prefix cache of an earlier one: the prompts are compared,
 * whatever the engine has cached. Marks of a prompt are stored under the id of its reply, for its tenant only.
 */
import * as z from "zod";
import { ignoreStoreFailure } from "../errors.ts";
import type { Model } from "../../models/models.ts";
import { createEntries, type EntryDeps } from "../../store/entries.ts";
import { consume, createPushStream, type PushStream } from "../../streams/push-stream.ts";
import {
  digestOfText,
  findDifference,
  lengthOf,
  type PromptDifference,
  thinEnds,
  toPromptMarks,
} from "../../turn/prompt/prompt-marks.ts";
import type { Turn, TurnEvent } from "../../turn/turn.ts";
import type { AutoCompaction } from "../reply/auto-compaction.ts";
import { isSummary } from "../reply/summary-text.ts";

/** The stored marks of a prompt. */
export const keptPrompt = z.lazy(() =>
  z.object({
    model: z.string(),
    /** The digest of the last summary. */
    summary: z.string().optional(),
    head: z.record(z.string(), z.string()),
    ends: z.array(z.tuple([z.int(), z.int(), z.int()]).readonly()).readonly(),
  }),
);

export type KeptPrompt = z.output<typeof keptPrompt>;

/**
 * The prompt to compare with, by the id of its reply. `unavailable`: the store cannot be read, or has no marks of the
 * prompt.
 */
export type ComparedPrompt = KeptPrompt | "not-found" | "unavailable";

/** `continued`: the prompts differ in nothing but their length. */
export type CacheDiagnosis =
  | { readonly type: "continued" | "not-found" | "unavailable" }
  | {
      readonly type: "changed";
      readonly what: PromptDifference["section"] | "model" | "summary";
      /** Tokens of the earlier prompt, and the tokens that this prompt would have shared with it. */
      readonly earlierTokens: number;
      readonly missedTokens: number;
    };

interface RunPrompt {
  readonly turn: Turn;
  readonly model: Pick<Model, "id">;
  /** Undefined: the turn itself is run. */
  readonly compaction: AutoCompaction | undefined;
}

/** Undefined: no prompt of the reply has been rendered. */
export function toKeptPrompt(prompt: RunPrompt): KeptPrompt | undefined {
  const marked = markPrompt(prompt);
  return marked && { ...marked, ends: thinEnds(marked.ends) };
}

/** Called when the prompt of the reply has been rendered. */
export function diagnoseCache(compared: ComparedPrompt, prompt: RunPrompt): CacheDiagnosis {
  if (compared === "not-found") return { type: compared };
  const own = markPrompt(prompt);
  if (compared === "unavailable" || own === undefined) return { type: "unavailable" };
  const earlierTokens = lengthOf(compared);
  const most = Math.min(earlierTokens, lengthOf(own));
  const changed = { type: "changed", earlierTokens } as const;
  if (compared.model !== own.model) return { ...changed, what: "model", missedTokens: most };
  const difference = findDifference(compared, own);
  if (difference === undefined) return { type: "continued" };
  const { section, shared } = difference;
  const isCompacted = own.summary !== undefined && own.summary !== compared.summary;
  const what = section === "messages" && isCompacted ? "summary" : section;
  return { ...changed, what, missedTokens: most - shared };
}

function markPrompt({ turn, model, compaction }: RunPrompt): KeptPrompt | undefined {
  const ran = compaction === undefined ? turn : compaction.ran;
  const rendered = ran?.prompt.rendered;
  if (rendered === undefined) return undefined;
  const summary = ran?.prompt.messages.findLast(isSummary)?.content;
  return {
    model: model.id,
    ...(typeof summary === "string" && { summary: digestOfText(summary) }),
    ...toPromptMarks(rendered),
  };
}

/** Never rejects because of the store: a diagnosis must not fail a reply. */
export async function readCompared(
  read: () => Promise<{ readonly prompt?: KeptPrompt | undefined } | undefined>,
): Promise<ComparedPrompt> {
  try {
    const entry = await read();
    return entry === undefined ? "not-found" : (entry.prompt ?? "unavailable");
  } catch (error) {
    ignoreStoreFailure(error);
    return "unavailable";
  }
}

/** Stores prompts of replies that are not stored themselves. */
export interface PromptStore {
  find(tenant: string, replyId: string): Promise<ComparedPrompt>;
  /** Passes events on, the last one after the prompt has been stored. */
  keep(
    events: AsyncIterable<TurnEvent>,
    reply: { readonly tenant: string; readonly id: string; readonly prompt: RunPrompt },
  ): PushStream<TurnEvent>;
}

export function createPromptStore(deps: EntryDeps): PromptStore {
  const entries = createEntries("prompt", [keptPrompt], deps);
  return {
    find: (tenant, id) =>
      readCompared(async () => {
        const prompt = await entries.get(tenant, id);
        return prompt && { prompt };
      }),
    keep: (events, { tenant, id, prompt }) =>
      createPushStream((consumer) => {
        let storing: Promise<unknown> | undefined;
        return consume(events, (event) => {
          if (event.type === "start") {
            const kept = toKeptPrompt(prompt);
            storing = kept && entries.set(kept, tenant, id).catch(ignoreStoreFailure);
          }
          if (event.type !== "end" || storing === undefined) return consumer(event);
          return storing.then(() => consumer(event));
        });
      }),
  };
}
