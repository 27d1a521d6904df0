/**
 * Metrics under the names of OpenTelemetry's conventions for generative AI, in the form of a Prometheus exporter, with the
 * buckets of the conventions. The gateway is the server in their terms.
 */
import type { Model } from "../models/models.ts";
import type { TurnUsage } from "../turn/turn.ts";
import type { Histogram, Registry } from "./metrics.ts";
import { toErrorType } from "./tracing/tracer.ts";

export interface GenAiMeters {
  readonly requestSeconds: Histogram;
  readonly toolSeconds: Histogram;
  readonly firstTokenSeconds: Histogram;
  readonly perTokenSeconds: Histogram;
  readonly tokens: Histogram;
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
  return {
    requestSeconds: registry.histogram(
      "gen_ai_server_request_duration_seconds",
      "From a turn's start to its last token.",
      REQUEST_SECONDS,
    ),
    toolSeconds: registry.histogram(
      "gen_ai_execute_tool_duration_seconds",
      "From the end of a call to its result, of tools that the gateway runs.",
      REQUEST_SECONDS,
    ),
    firstTokenSeconds: registry.histogram(
      "gen_ai_server_time_to_first_token_seconds",
      "From a turn's start to its first output, of turns that ended well.",
      FIRST_TOKEN_SECONDS,
    ),
    perTokenSeconds: registry.histogram(
      "gen_ai_server_time_per_output_token_seconds",
      "Mean time of a token after the first, of turns that ended well.",
      PER_TOKEN_SECONDS,
    ),
    tokens: registry.histogram(
      "gen_ai_client_token_usage",
      "Tokens of a turn, by type: input, output.",
      TOKENS,
    ),
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
  const labels = {
    gen_ai_operation_name: "chat",
    gen_ai_provider_name: model.provider,
    gen_ai_request_model: model.id,
  };
  const failure = error === undefined ? {} : { error_type: toErrorType(error) };
  meters.requestSeconds.observe({ ...labels, ...failure }, seconds);
  if (usage === undefined) return;
  const { promptTokens, completionTokens } = usage;
  if (firstTokenSeconds !== undefined) {
    meters.firstTokenSeconds.observe(labels, firstTokenSeconds);
    const others = completionTokens - 1;
    if (others > 0) meters.perTokenSeconds.observe(labels, (seconds - firstTokenSeconds) / others);
  }
  meters.tokens.observe({ ...labels, gen_ai_token_type: "input" }, promptTokens);
  meters.tokens.observe({ ...labels, gen_ai_token_type: "output" }, completionTokens);
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
