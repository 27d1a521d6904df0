/**
 * Metrics under the names of OpenTelemetry's conventions for generative AI, in the form of a Prometheus exporter, with the
 * buckets of the conventions. The gateway is the server in their terms.
 */
import type { Model } from "../models/models.ts";
import type { TurnUsage } from "../turn/turn.ts";
import type { Histogram, Labels, Registry } from "./metrics.ts";
import { toErrorType } from "./tracing/tracer.ts";

export interface GenAiMeters {
  readonly requestSeconds: Histogram;
  readonly toolSeconds: Histogram;
  /** Meters by model. A model has the same labels in every turn. */
  readonly byModel: WeakMap<Model, ModelMeters>;
  bind(provider: string, labels: Labels): ModelMeters;
}

interface ModelMeters {
  readonly provider: string;
  readonly labels: Labels;
  readonly request: (seconds: number) => void;
  readonly firstToken: (seconds: number) => void;
  readonly perToken: (seconds: number) => void;
  readonly input: (tokens: number) => void;
  readonly output: (tokens: number) => void;
}

/** Buckets for the durations of requests and tool calls. */
const REQUEST_SECONDS = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];
const FIRST_TOKEN_SECONDS = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
];
const PER_TOKEN_SECONDS = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5];
/** Buckets for tokens: 1, 4, 16 … 67,108,864. */
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);

export function createGenAiMeters(registry: Registry): GenAiMeters {
  const requestSeconds = registry.histogram(
    "gen_ai_server_request_duration_seconds",
    "From a turn's start to its last token.",
    REQUEST_SECONDS,
  );
  const toolSeconds = registry.histogram(
    "gen_ai_execute_tool_duration_seconds",
    "From the end of a call to its result, of tools that the gateway runs.",
    REQUEST_SECONDS,
  );
  const firstTokenSeconds = registry.histogram(
    "gen_ai_server_time_to_first_token_seconds",
    "From a turn's start to its first output, of turns that ended well.",
    FIRST_TOKEN_SECONDS,
  );
  const perTokenSeconds = registry.histogram(
    "gen_ai_server_time_per_output_token_seconds",
    "Mean time of a token after the first, of turns that ended well.",
    PER_TOKEN_SECONDS,
  );
  const tokens = registry.histogram(
    "gen_ai_client_token_usage",
    "Tokens of a turn, by type: input, output.",
    TOKENS,
  );
  return {
    requestSeconds,
    toolSeconds,
    byModel: new WeakMap(),
    bind: (provider, labels) => ({
      provider,
      labels,
      request: requestSeconds.bind(labels),
      firstToken: firstTokenSeconds.bind(labels),
      perToken: perTokenSeconds.bind(labels),
      input: tokens.bind({ ...labels, gen_ai_token_type: "input" }),
      output: tokens.bind({ ...labels, gen_ai_token_type: "output" }),
    }),
  };
}

export interface EndedTurn {
  readonly seconds: number;
  readonly firstTokenSeconds: number | undefined;
  /** Absent: the turn failed or was cancelled. */
  readonly usage: TurnUsage | undefined;
  readonly error: unknown;
}

export function observeGenAi(meters: GenAiMeters, model: Model, turn: EndedTurn): void {
  const { seconds, firstTokenSeconds, usage, error } = turn;
  const own = metersOf(meters, model);
  if (error === undefined) own.request(seconds);
  else meters.requestSeconds.observe({ ...own.labels, error_type: toErrorType(error) }, seconds);
  if (usage === undefined) return;
  if (firstTokenSeconds !== undefined) {
    own.firstToken(firstTokenSeconds);
    const others = usage.completionTokens - 1;
    if (others > 0) own.perToken((seconds - firstTokenSeconds) / others);
  }
  own.input(usage.promptTokens);
  own.output(usage.completionTokens);
}

/** @param name one of a few names, not a tool's name from an MCP server */
export function observeTool(
  meters: GenAiMeters,
  name: string,
  seconds: number,
  failed: boolean,
): void {
  const labels = { gen_ai_tool_name: name, gen_ai_tool_type: "extension" };
  meters.toolSeconds.observe({ ...labels, ...(failed && { error_type: "tool_error" }) }, seconds);
}

function metersOf(meters: GenAiMeters, model: Model): ModelMeters {
  const { id, provider } = model;
  const known = meters.byModel.get(model);
  if (known?.provider === provider) return known;
  const made = meters.bind(provider, {
    gen_ai_operation_name: "chat",
    gen_ai_provider_name: provider,
    gen_ai_request_model: id,
  });
  meters.byModel.set(model, made);
  return made;
}
