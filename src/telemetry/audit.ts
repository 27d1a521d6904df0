/**
 * The audit: a line of JSON for each request, written when its response and its turns have ended. It names the key, the
 * route, the model, the outcome and the tokens, and holds no text of users or models.
 */
import { getOrCreate } from "../lazy.ts";
import type { Model } from "../models/models.ts";
import type { Turn, TurnEnd } from "../turn/turn.ts";
import type { BeginWatch } from "./watch-turns.ts";

/** Facts about a request when its response has ended. */
export interface AuditedRequest {
  /** Name of the key. */
  readonly key: string | null;
  /** Name of the program, from its `user-agent`. */
  readonly client: string | null;
  readonly method: string;
  readonly route: string;
  readonly status: number;
  /** OpenRouter's error type of a request that was refused or failed. */
  readonly error: string | null;
  readonly effort: string | null;
  /** Source of the reasoning of the running tool loop. */
  readonly reasoning: string | null;
  /** Undefined: no images were described. */
  readonly media?: AuditedMedia | undefined;
  readonly ms: number;
}

/** Results for the images in a request and in the results of its tools. */
export interface AuditedMedia {
  readonly described: number;
  readonly cached: number;
  readonly failed: number;
  /** Tokens of the vision model. */
  readonly tokens: number;
}

/** Ends the request. Undefined: no line is written for it. */
export type EndRequest = (request: AuditedRequest | undefined) => void;

export interface AuditDeps {
  /** Receives a line. Must not throw or block. */
  readonly write: (line: string) => void;
  /** Time in milliseconds since 1970. */
  readonly now: () => number;
  /** Monotonic time, in milliseconds. */
  readonly clock: () => number;
  /** Returns OpenRouter's type of an error. */
  readonly errorTypeOf: (error: unknown) => string;
}

/** The requests and turns with the same id. */
interface Group {
  /** Number of requests whose response has not ended. */
  open: number;
  /** Sums of turns by tenant. */
  readonly turns: Map<string, TurnSum>;
}

export class Audit {
  readonly #deps: AuditDeps;
  readonly #groups = new Map<string, Group>();

  constructor(deps: AuditDeps) {
    this.#deps = deps;
  }

  /** Begins a request. The client may have chosen the id, so other requests may have the same id. */
  beginRequest(id: string): EndRequest {
    const group = this.#groupOf(id);
    group.open += 1;
    return (request) => {
      group.open -= 1;
      const key = request?.key ?? "";
      const sum = group.turns.get(key);
      if (sum !== undefined && sum.request === undefined) sum.request = request;
      // The request has no turns, or they were counted for another request with the same id.
      else if (request !== undefined) this.#write(id, request.key, request, undefined);
      this.#settle(id, group);
    };
  }

  /** Adds up turns. */
  readonly watchTurn: BeginWatch = (model, turn) => {
    const group = this.#groupOf(turn.id);
    const { clock, errorTypeOf } = this.#deps;
    const now = clock();
    const sum = getOrCreate(group.turns, turn.tenant, () => new TurnSum(now));
    sum.begin(model, turn);
    let hasEnded = false;
    return {
      see(event) {
        if (event.type === "part-start") sum.noteOutput(clock());
        else if (event.type === "end") sum.noteEnd(event);
        hasEnded ||= event.type === "end";
      },
      over: (outcome, error) => {
        if (outcome !== "cancelled") {
          if (!hasEnded) sum.finish = outcome;
          sum.error ??= errorTypeOf(error);
        }
        sum.running -= 1;
        this.#settle(turn.id, group);
      },
    };
  };

  #groupOf(id: string): Group {
    return getOrCreate(this.#groups, id, () => ({ open: 0, turns: new Map() }));
  }

  /** Writes ended requests and turns. A turn without a request, such as a background one, has a separate line. */
  #settle(id: string, group: Group): void {
    for (const [tenant, sum] of group.turns) {
      if (sum.running > 0 || (sum.request === undefined && group.open > 0)) continue;
      group.turns.delete(tenant);
      this.#write(id, tenant, sum.request, sum);
    }
    if (group.open === 0 && group.turns.size === 0) this.#groups.delete(id);
  }

  #write(
    id: string,
    key: string | null,
    request: AuditedRequest | undefined,
    sum: TurnSum | undefined,
  ): void {
    const { now, clock, write } = this.#deps;
    const line = {
      time: new Date(now()).toISOString(),
      id,
      key,
      client: request?.client ?? null,
      method: request?.method ?? null,
      route: request?.route ?? null,
      status: request?.status ?? null,
      error: request?.error ?? sum?.error ?? null,
      model: sum?.model ?? null,
      preset: sum?.preset ?? null,
      effort: request?.effort ?? null,
      reasoning: request?.reasoning ?? null,
      finish: sum?.finish ?? null,
      turns: sum?.turns ?? 0,
      promptTokens: sum?.promptTokens ?? 0,
      cachedTokens: sum?.cachedTokens ?? 0,
      completionTokens: sum?.completionTokens ?? 0,
      reasoningTokens: sum?.reasoningTokens ?? 0,
      toolCalls: sum?.toolCalls ?? 0,
      imagesDescribed: request?.media?.described ?? 0,
      imagesCached: request?.media?.cached ?? 0,
      imagesFailed: request?.media?.failed ?? 0,
      visionTokens: request?.media?.tokens ?? 0,
      firstTokenMs: sum?.firstTokenMs ?? null,
      ms: request?.ms ?? (sum === undefined ? null : clock() - sum.startedAt),
    };
    write(`${JSON.stringify(line)}\n`);
  }
}

/** Sums of all turns of a request: each of `n` choices is one, and each summary. */
class TurnSum {
  readonly startedAt: number;
  /** The request. Set when its response has ended. */
  request: AuditedRequest | undefined;
  running = 0;
  turns = 0;
  model: string | undefined;
  preset: string | undefined;
  /** Finish reason of the last turn that ended. */
  finish: string | undefined;
  error: string | undefined;
  firstTokenMs: number | undefined;
  promptTokens = 0;
  cachedTokens = 0;
  completionTokens = 0;
  reasoningTokens = 0;
  toolCalls = 0;

  constructor(startedAt: number) {
    this.startedAt = startedAt;
  }

  begin(model: Model, { preset }: Turn): void {
    this.running += 1;
    this.turns += 1;
    this.model ??= model.id;
    this.preset ??= preset?.name;
    this.finish ??= "cancelled";
  }

  noteOutput(now: number): void {
    this.firstTokenMs ??= now - this.startedAt;
  }

  noteEnd({ finish, failure, usage }: TurnEnd): void {
    this.finish = finish;
    this.error ??= failure?.kind;
    this.promptTokens += usage.promptTokens;
    this.cachedTokens += usage.cachedTokens;
    this.completionTokens += usage.completionTokens;
    this.reasoningTokens += usage.reasoningTokens;
    this.toolCalls += usage.gatewayTools?.executed ?? 0;
  }
}
