/**
 * Names of attributes: from OpenTelemetry's semantic conventions for HTTP and generative AI (in development; version of autumn
 * 2026), and our own under `harmony_gateway`.
 */
export const HTTP_METHOD = "http.request.method";
export const HTTP_ROUTE = "http.route";
export const HTTP_STATUS = "http.response.status_code";
export const PROTOCOL = "network.protocol.name";
export const ERROR_TYPE = "error.type";

export const OPERATION = "gen_ai.operation.name";
export const PROVIDER = "gen_ai.provider.name";
export const CONVERSATION = "gen_ai.conversation.id";
export const REQUEST_MODEL = "gen_ai.request.model";
export const MAX_TOKENS = "gen_ai.request.max_tokens";
export const TEMPERATURE = "gen_ai.request.temperature";
export const TOP_P = "gen_ai.request.top_p";
export const TOP_K = "gen_ai.request.top_k";
export const SEED = "gen_ai.request.seed";
export const OUTPUT_TYPE = "gen_ai.output.type";
export const FINISH_REASONS = "gen_ai.response.finish_reasons";
export const FIRST_CHUNK_SECONDS = "gen_ai.response.time_to_first_chunk";
export const INPUT_TOKENS = "gen_ai.usage.input_tokens";
export const OUTPUT_TOKENS = "gen_ai.usage.output_tokens";
export const CACHED_TOKENS = "gen_ai.usage.cache_read.input_tokens";
export const REASONING_TOKENS = "gen_ai.usage.reasoning.output_tokens";
export const TOOL_NAME = "gen_ai.tool.name";
/** Messages, only where content may be captured. */
export const INPUT_MESSAGES = "gen_ai.input.messages";
export const OUTPUT_MESSAGES = "gen_ai.output.messages";

/** The request id of the log, which the engine receives too. */
export const REQUEST_ID = "harmony_gateway.request_id";
/** The source of the reasoning of a tool loop. */
export const REASONING = "harmony_gateway.reasoning";
/** The decision of `nextStep` that led to the engine call. */
export const DECISION = "harmony_gateway.decision";
export const BACKEND = "harmony_gateway.backend";
export const ENGINE_CALLS = "harmony_gateway.engine_calls";
/** Repairs of the model's output, `name=count`. */
export const TURN_RECOVERIES = "harmony_gateway.recoveries";
/** The outcome: `completed`, `cut`, `failed`, `cancelled`. */
export const OUTCOME = "harmony_gateway.outcome";
