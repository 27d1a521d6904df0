/**
 * Reads declarations of tools that the gateway runs, under their names in the APIs: OpenAI's and OpenRouter's
 * `web_search…`, Groq's `browser_search`, `code_interpreter`, Anthropic's dated names.
 */
import * as z from "zod";
import { TRAINED_TOOLS, type TrainedTool } from "../../harmony/trained-tools.ts";
import { lazy } from "../../lazy.ts";
import type { ToolNamespace } from "../../harmony/conversation.ts";
import type { NamespacedFunction } from "../../harmony/tool-names.ts";
import type { Settings } from "../../config/settings.ts";
import type { GatewayTool } from "../../tools/gateway-tool.ts";
import type { Toolbox } from "../../tools/toolbox.ts";
import type { ApprovedCall, TurnGatewayTools } from "../../turn/turn.ts";
import { refusal, type RequestError } from "../errors.ts";
import { parseWith } from "../request/parse-request.ts";

/** The deployment's tools and the operator's limits. */
export interface HostedDeps {
  readonly toolbox: Toolbox;
  readonly maxCalls: number;
  readonly timeoutMs: number;
  readonly citations: TurnGatewayTools["citations"];
}

/** A declaration in a request. */
export interface Declaration {
  readonly kind: string;
  /** All fields of the declaration. */
  readonly fields: unknown;
  /** The declaration's path in the request. */
  readonly param: string;
  /** Maximum calls of one kind; `max_uses` limits all of them. */
  readonly uses?: { readonly searches?: number; readonly opens?: number };
}

/** A tool in a request's `tools` that a server is to run, and not the client. */
interface SentHostedTool {
  readonly type: "hosted";
  readonly kind: string;
  readonly fields: unknown;
}

/** The declarations among the tools that a request has in `tools`. */
export function toDeclarations(
  tools: readonly { readonly type: string }[] | null | undefined,
): Declaration[] {
  return (tools ?? []).flatMap((tool, index) =>
    isSentHosted(tool) ? [{ kind: tool.kind, fields: tool.fields, param: `tools[${index}]` }] : [],
  );
}

function isSentHosted(tool: { readonly type: string }): tool is SentHostedTool {
  return tool.type === "hosted";
}

export function unsupportedTool(kind: string, param: string): RequestError {
  return refusal(param, `${JSON.stringify(kind)} tools are not supported`);
}

/** The tools of a request that the gateway runs. */
export interface HostedTools {
  readonly tools: readonly GatewayTool[];
  /** Namespaces for the system message. */
  readonly namespaces: readonly ToolNamespace[];
  /** Functions for the developer message. */
  readonly functions: readonly NamespacedFunction[];
  /** Maximum calls, if declarations limit them. */
  readonly maxUses: number | undefined;
  /** The time zone of the time in the prompt. Absent: the prompt has no time. */
  readonly timeZone?: string | undefined;
}

export const NO_HOSTED_TOOLS: HostedTools = {
  tools: [],
  namespaces: [],
  functions: [],
  maxUses: undefined,
};

/** Replaces the tools and keeps the limits. */
export function withTools(others: HostedTools, tools: readonly GatewayTool[]): HostedTools {
  return {
    ...others,
    tools,
    namespaces: tools.flatMap(({ namespace }) => namespace ?? []),
    functions: tools.flatMap(({ functions = [] }) =>
      functions.flatMap(({ shown, isDeferred }) => (isDeferred ? [] : [shown])),
    ),
  };
}

/** Adds the tools of MCP servers. */
export function withServers(hosted: HostedTools, servers: readonly GatewayTool[]): HostedTools {
  return servers.length === 0 ? hosted : withTools(hosted, [...hosted.tools, ...servers]);
}

/** The trained tool for a declared type. Undefined: the gateway has none for it. */
export function hostedKindOf(type: string): TrainedTool | undefined {
  return TRAINED_TOOLS.find((kind) => HOSTED_NAMES[kind].test(type));
}

const HOSTED_NAMES: Readonly<Record<TrainedTool, RegExp>> = {
  browser:
    /^(?:(?:openrouter:)?web_search(?:_preview)?(?:_[\d_]+)?|browser_search|openrouter:web_fetch)$/,
  python: /^code_(?:interpreter|execution)(?:_\d+)?$/,
};

/** Whether Chat Completions refuses a request with a tool of this type if the tool cannot be run. */
export function isRequiredType(type: string): boolean {
  return type === "mcp" || (type !== WEB_FETCH && hostedKindOf(type) !== undefined);
}

/** OpenRouter's names of tools. The first is the browser without its search. */
const WEB_FETCH = "openrouter:web_fetch";
const DATETIME = "openrouter:datetime";

/** Whether a tool of this kind can be run here. */
export function isHosted(type: string, { toolbox }: Pick<HostedDeps, "toolbox">): boolean {
  if (type === "mcp") return toolbox.mcp !== undefined;
  if (type === DATETIME) return true;
  const kind = hostedKindOf(type);
  return kind !== undefined && toolbox[kind] !== undefined;
}

export function hostedDeps(settings: Settings, toolbox: Toolbox): HostedDeps {
  return {
    toolbox,
    maxCalls: settings.maxBuiltinCalls,
    timeoutMs: settings.builtinTimeoutMs,
    citations: settings.citations,
  };
}

/**
 * Opens the declared tools. If a kind is declared several times, the first declaration applies, but each one limits
 * calls. Throws a {@link RequestError}.
 */
export function readHostedTools(
  declarations: readonly Declaration[],
  deps: HostedDeps,
): HostedTools {
  const tools: GatewayTool[] = [];
  const seen = new Set<TrainedTool>();
  const uses: number[] = [];
  const browsers = declarations.filter(({ kind }) => hostedKindOf(kind) === "browser");
  const isFetchOnly = browsers.length > 0 && browsers.every(({ kind }) => kind === WEB_FETCH);
  const limits = declarations.reduce(
    (all, { uses: own }) => ({ ...all, ...own }),
    isFetchOnly ? { searches: 0 } : {},
  );
  for (const { kind: type, fields, param } of declarations) {
    const kind = hostedKindOf(type);
    if (kind === undefined || seen.has(kind) || !isHosted(type, deps)) continue;
    seen.add(kind);
    const declared = parseWith(declaration(), fields, param);
    const given = { ...declared, ...declared.parameters };
    if (given.max_uses != null) uses.push(given.max_uses);
    const tool = OPENERS[kind]({ given, limits, param }, deps);
    if (tool) tools.push(tool);
  }
  const maxUses = uses.length === 0 ? undefined : Math.min(...uses);
  const clock = declarations.find(({ kind }) => kind === DATETIME);
  const timeZone = clock && readTimeZone(clock);
  return withTools({ ...NO_HOSTED_TOOLS, maxUses, timeZone }, tools);
}

function readTimeZone({ fields, param }: Declaration): string {
  const { timezone = "UTC" } = parseWith(datetime(), fields, param).parameters ?? {};
  try {
    return new Intl.DateTimeFormat("en", { timeZone: timezone }).resolvedOptions().timeZone;
  } catch {
    throw refusal(
      `${param}.parameters.timezone`,
      "must be the name of a time zone, such as Europe/Paris",
    );
  }
}

/** The time for the model: `2026-11-28 18:05:00 (Europe/Paris)`. */
export function toTimeNote(timeZone: string, now: number): string {
  const time = new Intl.DateTimeFormat("sv", { timeZone, dateStyle: "short", timeStyle: "medium" });
  return `The current date and time is ${time.format(now)} (${timeZone}).`;
}

export interface GatewayToolsRequest {
  /** The request's limit of calls. */
  readonly maxCalls?: number | null | undefined;
  readonly forced?: readonly string[] | undefined;
  readonly saved?: ReadonlyMap<string, string> | undefined;
  /** Approved calls, which are run before anything is sampled. */
  readonly approved?: readonly ApprovedCall[] | undefined;
  readonly deferred?: TurnGatewayTools["deferred"] | undefined;
}

/** Undefined: the gateway runs no tools in this turn. */
export function toTurnGatewayTools(
  { tools, maxUses }: HostedTools,
  { maxCalls, forced, saved, approved = [], deferred }: GatewayToolsRequest,
  deps: HostedDeps,
): TurnGatewayTools | undefined {
  if (tools.length === 0) return undefined;
  return {
    tools,
    maxCalls: Math.min(deps.maxCalls, maxUses ?? Infinity, maxCalls ?? Infinity),
    timeoutMs: deps.timeoutMs,
    citations: deps.citations,
    ...(forced !== undefined && { forced }),
    ...(saved && { saved }),
    ...(approved.length > 0 && { approved }),
    ...(deferred && { deferred }),
  };
}

/** The allowed recipients of the first call if a call of any of these tools is required. Undefined: there are none. */
export function requiredRecipients(tools: readonly GatewayTool[]): readonly string[] | undefined {
  const [first] = tools;
  if (first === undefined) return undefined;
  // The model does not choose between the trained tools: with both, the first call must be a search.
  const recipients =
    first.functions === undefined
      ? firstRecipients(first)
      : tools.flatMap((tool) => firstRecipients(tool));
  return recipients.length === 0 ? undefined : recipients;
}

/** The allowed recipients of the first call if a call of this tool is required. */
export function firstRecipients({ name, namespace, functions }: GatewayTool): readonly string[] {
  if (functions !== undefined) return functions.map(({ recipient }) => recipient);
  const [first] = namespace?.functions ?? [];
  return [first === undefined ? name : `${name}.${first.name}`];
}

interface Wanted {
  readonly given: Given;
  /** The limits of all declarations of the tool. */
  readonly limits: NonNullable<Declaration["uses"]>;
  readonly param: string;
}

/** Opens each tool. Undefined: the tool cannot be run here. */
const OPENERS: Readonly<
  Record<TrainedTool, (wanted: Wanted, deps: HostedDeps) => GatewayTool | undefined>
> = { browser: openBrowser, python: openPython };

function openBrowser(
  { given, limits: { searches, opens } }: Wanted,
  { toolbox }: HostedDeps,
): GatewayTool | undefined {
  const allowed = given.filters?.allowed_domains ?? given.allowed_domains;
  const excluded =
    given.filters?.blocked_domains ?? given.excluded_domains ?? given.blocked_domains;
  const place = given.user_location;
  const { country, city, region, timezone } = { ...place, ...place?.approximate };
  const size = given.search_context_size;
  const maxResults = given.max_results ?? (size == null ? undefined : RESULTS_BY_SIZE[size]);
  return toolbox.browser?.({
    ...(allowed?.length && { allowedDomains: allowed }),
    ...(excluded?.length && { excludedDomains: excluded }),
    ...(maxResults !== undefined && { maxResults }),
    ...(searches !== undefined && { maxSearches: searches }),
    ...(opens !== undefined && { maxOpens: opens }),
    ...(place && {
      location: {
        ...(country && { country }),
        ...(city && { city }),
        ...(region && { region }),
        ...(timezone && { timezone }),
      },
    }),
  });
}

/** Maximum search results. Pages are always read in windows. */
const RESULTS_BY_SIZE = { low: 5, medium: 10, high: 20 } as const;

function openPython({ given, param }: Wanted, { toolbox }: HostedDeps): GatewayTool | undefined {
  const { container } = given;
  if (typeof container === "object" && container?.file_ids?.length) {
    const field = `${param}.container.file_ids`;
    throw refusal(field, "there are no uploaded files here");
  }
  return toolbox.python?.(typeof container === "string" ? { containerId: container } : {});
}

const datetime = lazy(() =>
  z.object({ parameters: z.object({ timezone: z.string().max(100).optional() }).nullish() }),
);

const domains = lazy(() => z.array(z.string().min(1).max(253)).max(100).nullish());
const placeFields = lazy(() => ({
  country: z.string().max(100).nullish(),
  city: z.string().max(100).nullish(),
  region: z.string().max(100).nullish(),
  timezone: z.string().max(100).nullish(),
}));

/** The fields of all declarations. Each API has its own names for them. */
const fields = lazy(() => ({
  filters: z.object({ allowed_domains: domains(), blocked_domains: domains() }).nullish(),
  allowed_domains: domains(),
  blocked_domains: domains(),
  excluded_domains: domains(),
  search_context_size: z.enum(["low", "medium", "high"]).nullish(),
  max_results: z.int().min(1).max(100).optional(),
  max_uses: z.int().min(1).nullish(),
  user_location: z
    .object({ ...placeFields(), approximate: z.object(placeFields()).nullish() })
    .nullish(),
}));

const declaration = lazy(() =>
  z.object({
    ...fields(),
    parameters: z.object(fields()).optional(),
    container: z
      .union([z.string(), z.looseObject({ file_ids: z.array(z.string()).nullish() })])
      .nullish(),
  }),
);

type Given = z.output<ReturnType<typeof declaration>>;
