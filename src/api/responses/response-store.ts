/**
 * Stores responses, for reading, for continuation by `previous_response_id`, and for items that are referenced by id.
 *
 * An entry contains the input and output of one request and the ids of the responses before it. A conversation of n
 * turns therefore takes n entries and n reads, and nothing is stored twice.
 */
import * as z from "zod";
import { JsonText, toJson } from "../../json-text.ts";
import { lazy } from "../../lazy.ts";
import { createEntries, type EntryDeps } from "../../store/entries.ts";
import { refusal, type RequestError } from "../errors.ts";
import { type KeptPrompt, keptPrompt } from "../turn/cache-diagnosis.ts";
import type { WireItem } from "./items.ts";

export interface StoredResponse {
  /** The response object with all reasoning in its output, including reasoning that the client did not receive. */
  readonly response: StoredResource;
  /** The input items of the response's own request, each with an id. */
  readonly input: readonly WireItem[];
  /** Ids of the responses that this one continues, oldest first. */
  readonly ancestors: readonly string[];
  /** Milliseconds since 1970. */
  readonly storedAt: number;
  /** Responses that continue a private one are private too: their prompts contain its content. */
  readonly isPrivate?: boolean | undefined;
  /** Marks of the prompt, for a response that has ended. */
  readonly prompt?: KeptPrompt | undefined;
  /** For an ended background response: the number of stored events before its last event. */
  readonly events?: number | undefined;
}

export type StoredResource = Readonly<Record<string, unknown>> & {
  readonly id: string;
  readonly status: string;
  readonly output: readonly WireItem[];
};

/** A background response still in flight. */
export function isInFlight({ status }: { readonly status: string }): boolean {
  return status === "queued" || status === "in_progress";
}

/** The stored responses. Methods reject with a `StoreError` when the store fails. */
export interface ResponseStore {
  /** @throws RequestError when the response is too large to be stored. */
  put(tenant: string, entry: StoredResponse, options: PutOptions): Promise<void>;
  get(tenant: string, id: string): Promise<StoredResponse | undefined>;
  /** The existing responses by id. */
  getMany(tenant: string, ids: readonly string[]): Promise<ReadonlyMap<string, StoredResponse>>;
  delete(tenant: string, id: string): Promise<void>;
  /** Finds an item that is known without reading its response. */
  ownItem(itemId: string): OwnItem | undefined;
}

export interface OwnItem {
  readonly item: WireItem;
  /** Whether the item's response is private. */
  readonly isPrivate: boolean;
}

export interface PutOptions {
  /** The request's `store`. False: the response must not be found later. */
  readonly store: boolean;
  /** All items before the request's input. */
  readonly earlier: readonly WireItem[];
  /** Whether the output has log probabilities. */
  readonly hasLogprobs?: boolean;
}

const wireItem = lazy(() => z.looseObject({ type: z.string() }));

const storedResponse = z.lazy(() =>
  z.object({
    response: z.looseObject({ id: z.string(), status: z.string(), output: z.array(wireItem()) }),
    input: z.array(wireItem()),
    ancestors: z.array(z.string()),
    storedAt: z.number(),
    isPrivate: z.boolean().optional(),
    prompt: keptPrompt.optional(),
    events: z.number().optional(),
  }),
);

export function createResponseStore(deps: EntryDeps): ResponseStore {
  const entries = createEntries<z.ZodType<StoredResponse>>("response", [storedResponse], deps);
  return {
    async put(tenant, entry, options) {
      if (!options.store) return;
      // Log probabilities are JSON text already, which `JSON.stringify` would parse.
      const value = options.hasLogprobs ? new JsonText(toJson(entry)) : entry;
      if (!(await entries.set(value, tenant, entry.response.id))) {
        throw responseTooLarge(options.hasLogprobs ? "top_logprobs" : "input");
      }
    },
    get: (tenant, id) => entries.get(tenant, id),
    getMany: (tenant, ids) => entries.getMany(tenant, ids),
    delete: (tenant, id) => entries.delete(tenant, id),
    ownItem: () => undefined,
  };
}

export function responseTooLarge(param: "input" | "top_logprobs"): RequestError {
  const advice =
    param === "input" ? "Send less input" : "Send a lower one or a lower max_output_tokens";
  return refusal(
    param,
    `the response would be too large to be stored. ${advice}, or set store to false.`,
    { status: 413 },
  );
}

/**
 * Items are named after their response, so that a reference needs no separate entry: `rs_<key>_2` is the third output
 * item of `resp_<key>`, `msg_<key>_i0` its first input item.
 */
export function toItemId(responseId: string, prefix: string, place: number | string): string {
  return `${prefix}_${responseId.replace(/^resp_/, "")}_${place}`;
}

export function responseOf(itemId: string): string | undefined {
  const key = /^[a-z]+_([0-9A-Za-z]+)_i?\d+$/.exec(itemId)?.[1];
  return key === undefined ? undefined : `resp_${key}`;
}
