/**
 * The models for Anthropic's clients: lists them in Anthropic's format, if a request names a version of its API, and
 * finds them by name.
 */
import { type Context, Hono, type HonoRequest } from "hono";
import { GPT_OSS_CONTEXT } from "../../engines/models-probe.ts";
import { type FoundModel, listedModels, type Models } from "../../models/models.ts";
import type { ApiEnv } from "../request/client.ts";
import { refusal, RequestError } from "../errors.ts";
import { readinessOf } from "../health.ts";
import { listAvailable, UNKNOWN_MODEL_REASON } from "../request/requested-model.ts";

/** Anthropic's clients send a version with every request; no other clients do. */
export function namesVersion(request: HonoRequest): boolean {
  return request.header("anthropic-version") !== undefined;
}

/** Requests of other clients are passed to the next routes. */
export function modelRoutes(
  findModel: FindModel,
  /** `seesImages`: images in requests are described. */
  { seesImages, readsPdfs }: { readonly seesImages: boolean; readonly readsPdfs: boolean },
): Hono<ApiEnv> {
  const routes = new Hono<ApiEnv>();
  const capabilities = {
    ...CAPABILITIES,
    image_input: seesImages ? YES : NO,
    pdf_input: readsPdfs ? YES : NO,
  };
  routes.get("/models", (c, next) => (namesVersion(c.req) ? answerList(c, capabilities) : next()));
  routes.get("/models/:id{.+}", (c, next) => {
    if (!namesVersion(c.req)) return next();
    const id = c.req.param("id");
    const { models } = c.get("client");
    const found = findModel(models, id);
    if (found === undefined) throw unknownModel(id, models);
    return answer(c, toModelInfo(id, found, capabilities));
  });
  return routes;
}

function answerList(c: Context<ApiEnv>, capabilities: typeof CAPABILITIES): Response {
  const { limit, after_id: after, before_id: before, lifecycle } = c.req.query();
  const most = toLimit(limit);
  const { models } = c.get("client");
  const listed = listedModels(models).map((each) => toModelInfo(each.name, each, capabilities));
  const all = lifecycle === undefined || lifecycle === "active" ? listed : [];
  const ids = all.map(({ id }) => id);
  const from = after === undefined ? 0 : ids.indexOf(after) + 1;
  const found = before === undefined ? -1 : ids.indexOf(before);
  const to = found < 0 ? all.length : found;
  // With `before_id` alone, the page ends directly before the id.
  const begin = before !== undefined && after === undefined ? Math.max(0, to - most) : from;
  const page = all.slice(begin, Math.min(to, begin + most));
  return answer(c, {
    data: page,
    has_more: before === undefined ? begin + most < to : begin > 0,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  });
}

function answer(c: Context<ApiEnv>, body: object): Response {
  return c.json(body, 200, { "request-id": c.get("requestId") });
}

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 1000;

function toLimit(text: string | undefined): number {
  if (text === undefined) return DEFAULT_LIMIT;
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw refusal("limit", `must be a whole number from 1 to ${MAX_LIMIT}`);
}

/** The release date of gpt-oss. */
const PUBLISHED = "2025-08-05T00:00:00Z";

/** The entry of one model, under the requested name. */
function toModelInfo(
  id: string,
  { model, preset }: Pick<FoundModel, "model" | "preset">,
  capabilities: typeof CAPABILITIES,
) {
  const contextLength = model.contextLength ?? GPT_OSS_CONTEXT;
  return {
    type: "model",
    id,
    display_name: preset?.name ?? model.id.replace(/^openai\//, ""),
    created_at: PUBLISHED,
    max_input_tokens: contextLength,
    max_tokens: Math.min(preset?.maxOutputTokens ?? contextLength, contextLength),
    state: readinessOf(model),
    lifecycle: "active",
    deprecated_at: null,
    retires_at: null,
    line: null,
    capabilities,
  };
}

const YES = { supported: true };
const NO = { supported: false };

const CAPABILITIES = {
  batch: NO,
  citations: NO,
  code_execution: NO,
  context_management: {
    supported: true,
    clear_thinking_20251015: YES,
    clear_tool_uses_20250919: YES,
    compact_20260112: YES,
  },
  effort: { supported: true, low: YES, medium: YES, high: YES, xhigh: NO, max: NO },
  image_input: NO,
  pdf_input: NO,
  server_tools: NO,
  structured_outputs: YES,
  thinking: {
    supported: true,
    types: { adaptive: YES, between_tools: YES, disabled: YES, enabled: YES },
  },
};

/** `pattern=model` with a pattern such as `claude-haiku-*`. A model without a pattern applies to every `claude-*`. */
type ClaudeAlias = string;

export type FindModel = (models: Models, name: string) => FoundModel | undefined;

/**
 * Finds a model by name or alias. Programs made for Claude request `claude-…`; aliases map such a name to a served
 * model. The first matching alias wins. Aliases apply only to names that no served model has.
 */
export function createFindModel(aliases: readonly ClaudeAlias[]): FindModel {
  const patterns = aliases.map((alias) => {
    const at = alias.indexOf("=");
    return at < 0
      ? { matches: toMatcher("claude-*"), model: alias }
      : { matches: toMatcher(alias.slice(0, at)), model: alias.slice(at + 1) };
  });
  return (models, name) => {
    const served = models.find(name);
    if (served !== undefined) return served;
    const alias = patterns.find(({ matches }) => matches(name));
    return alias && models.find(alias.model);
  };
}

export function unknownModel(name: string, models: Models): RequestError {
  const hint = name.startsWith("claude-")
    ? " This gateway serves gpt-oss; its operator can set claudeAliases."
    : "";
  return new RequestError(`model: ${name}.${listAvailable(models)}${hint}`, {
    reason: UNKNOWN_MODEL_REASON,
    status: 404,
    param: "model",
  });
}

/** A trailing `*` matches any text. */
function toMatcher(pattern: string): (name: string) => boolean {
  if (!pattern.endsWith("*")) return (name) => name === pattern;
  const prefix = pattern.slice(0, -1);
  return (name) => name.startsWith(prefix);
}
