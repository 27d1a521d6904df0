/** The gateway's meters. Names begin with `harmony_gateway_`, except those of the conventions. */
import { createGenAiMeters, type GenAiMeters } from "./gen-ai-metrics.ts";
import type { Counter, Gauge, Histogram, Registry } from "./metrics.ts";

export interface Meters {
  /** Requests by route and status. */
  readonly requests: Counter;
  /** Turns by model and finish reason. */
  readonly turns: Counter;
  readonly turnsInFlight: Gauge;
  /** Tokens by model and kind: `prompt`, `cached`, `completion`, `reasoning`. */
  readonly tokens: Counter;
  readonly keyTokens: Counter;
  /** Repairs by the parser, by kind. */
  readonly recoveries: Counter;
  /** Calls by the form in which the model wrote their headers. */
  readonly callHeaders: Counter;
  /** Calls of trained tools, by tool and outcome: `mapped`, `unmapped`, `invalid`, `inverse-missing`. */
  readonly trainedCalls: Counter;
  /** Steps of running tool loops in prompts, by their form: `ids`, `text`, `form`, `layout`; with the reason if not by ids. */
  readonly stepsRendered: Counter;
  /** Calls that the gateway ran for the model, by tool and outcome: `completed`, `failed`. */
  readonly builtinCalls: Counter;
  /** Reasoning of tool loops by its source: `sent`, `sealed`, `stored`, `lost`. */
  readonly reasoningReturned: Counter;
  /** Images of requests and tool results, by outcome: `described`, `cached`, `failed`. */
  readonly images: Counter;
  /** Tokens of the vision model, by kind: `prompt`, `completion`. */
  readonly visionTokens: Counter;
  /** Tools left out of a request's prompt, by kind. */
  readonly toolsSkipped: Counter;
  /** Encrypted reasoning that could not be decrypted, by reason. */
  readonly sealsRefused: Counter;
  /** Failures of the store, by operation and kind. */
  readonly storeFailures: Counter;
  /** Stored entries that could not be read, by kind. */
  readonly corruptEntries: Counter;
  readonly firstTokenSeconds: Histogram;
  readonly turnSeconds: Histogram;
  /** Metrics under the names of OpenTelemetry's conventions. */
  readonly genAi: GenAiMeters;
}

const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250];

export function createMeters(registry: Registry): Meters {
  return {
    requests: registry.counter("harmony_gateway_requests_total", "HTTP requests answered."),
    turns: registry.counter("harmony_gateway_turns_total", "Turns ended, by finish reason."),
    turnsInFlight: registry.gauge("harmony_gateway_turns_in_flight", "Turns in flight."),
    tokens: registry.counter("harmony_gateway_tokens_total", "Tokens, as reported to clients."),
    keyTokens: registry.counter(KEY_TOKENS, "Tokens by key, where there are keys."),
    recoveries: registry.counter(
      "harmony_gateway_recoveries_total",
      "Repairs of what the model wrote, by kind.",
    ),
    callHeaders: registry.counter(
      "harmony_gateway_call_headers_total",
      "Calls by the form in which the model wrote their headers. Headers that the gateway or a constraint wrote are not counted.",
    ),
    trainedCalls: registry.counter(
      "harmony_gateway_trained_calls_total",
      "Calls of trained tools in place of the client's, by tool and outcome.",
    ),
    stepsRendered: registry.counter(
      "harmony_gateway_steps_rendered_total",
      "Steps of running tool loops in prompts, by how they were written, and why not as they were sampled.",
    ),
    builtinCalls: registry.counter(
      "harmony_gateway_builtin_calls_total",
      "Calls the gateway ran for the model, by tool and outcome.",
    ),
    reasoningReturned: registry.counter(
      "harmony_gateway_reasoning_returned_total",
      "Steps of running tool loops in requests, by where their reasoning was found.",
    ),
    images: registry.counter(
      "harmony_gateway_images_total",
      "Images in requests and tool results, by how the model could read them.",
    ),
    visionTokens: registry.counter(
      "harmony_gateway_vision_tokens_total",
      "Tokens of the vision model, which are not part of the usage of replies.",
    ),
    toolsSkipped: registry.counter(
      "harmony_gateway_tools_skipped_total",
      "Tools of requests that were left out because they cannot be served, by kind.",
    ),
    sealsRefused: registry.counter(
      "harmony_gateway_seals_refused_total",
      "Encrypted reasoning that could not be decrypted, by reason.",
    ),
    storeFailures: registry.counter(
      "harmony_gateway_store_failures_total",
      "Failed operations of the store, by operation and failure.",
    ),
    corruptEntries: registry.counter(
      "harmony_gateway_store_corrupt_entries_total",
      "Stored entries that could not be read and were treated as missing, by kind.",
    ),
    firstTokenSeconds: registry.histogram(
      "harmony_gateway_first_token_seconds",
      "From a turn's start to its first output.",
      SECONDS,
    ),
    turnSeconds: registry.histogram(
      "harmony_gateway_turn_seconds",
      "From a turn's start to its end.",
      SECONDS,
    ),
    genAi: createGenAiMeters(registry),
  };
}

const KEY_TOKENS = "harmony_gateway_key_tokens_total";

/** The metrics of one key, without the counts of others. */
export function withoutOtherKeys(metrics: string, name: string): string {
  const lines = metrics.split("\n");
  const own = `${KEY_TOKENS}{key="${name}",`;
  return lines
    .filter((line) => !line.startsWith(`${KEY_TOKENS}{`) || line.startsWith(own))
    .join("\n");
}
