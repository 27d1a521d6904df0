/**
 * Detects another model than gpt-oss behind the URL, a likely first mistake, from the probe's answers, and suggests a command.
 */
import { EngineError } from "./engine-error.ts";
import { listModels } from "./models-probe.ts";

/** The server's description of its models. */
export interface Offer {
  /** `vllm at http://127.0.0.1:8000`. */
  readonly server: string;
  /** The configured model's name at the server. */
  readonly model: string;
  /** Absent: the server has no list. */
  readonly models: readonly string[] | undefined;
  /** The command that starts gpt-oss there. Absent: the provider chooses. */
  readonly start: string | undefined;
}

export class OtherModelError extends EngineError {
  /** The server's model, with the evidence that it is not gpt-oss. */
  readonly finding: string;
  readonly change: string;

  /** @param evidence clause after a colon: `it refused a prompt of token ids`. */
  constructor(offer: Offer, evidence: string, cause?: unknown) {
    const { server, start } = offer;
    const finding = `${server} serves ${listModels(toServed(offer))}, without gpt-oss's vocabulary: ${evidence}.`;
    const change =
      start === undefined ? "Name a gpt-oss with --model." : `Serve gpt-oss instead: ${start}`;
    const { status, serverMessage } = cause instanceof EngineError ? cause : {};
    super("not-found", `${finding} ${change}`, {
      cause,
      ...(status !== undefined && { status }),
      ...(serverMessage !== undefined && { serverMessage }),
    });
    this.finding = finding;
    this.change = change;
  }
}

/** The configured model, or the listed models if it is not among them. */
export function toServed({ model, models = [] }: Offer): readonly string[] {
  return models.length === 0 || models.includes(model) ? [model] : models;
}

/**
 * Explains a refused probe by the server's reason. The prompt is the gateway's own, so the reason quotes no client. Any other
 * failure is returned unchanged.
 */
export function explainRefusal(error: unknown, offer: Offer): unknown {
  const reason = error instanceof EngineError ? error.serverMessage : undefined;
  if (!(error instanceof EngineError) || reason === undefined) return error;
  const { kind, status } = error;
  // SGLang refuses in an event of its stream, whose kind only means a failure.
  if (kind !== "bad-request" && kind !== "server-error") return error;
  const quoted = quote(reason);
  if (VOCABULARY.test(reason)) {
    return new OtherModelError(offer, `it refused gpt-oss's token ids (${quoted})`, error);
  }
  return new EngineError(kind, `${error.message} Its reason: ${quoted}.`, {
    cause: error,
    serverMessage: reason,
    ...(status !== undefined && { status }),
  });
}

/**
 * vLLM: "Token id 200008 is out of vocabulary". llama-server: "Prompt contains invalid tokens". SGLang: "The input_ids […] contains
 * values greater than the vocab size (151936)."
 */
const VOCABULARY = /\bvocab|invalid tokens?\b|\btoken[_ ]ids?\b.*\bout of range/i;

/** Whether a model's name identifies it as gpt-oss. A fine-tuned model may have any name. */
export function isNamedGptOss(name: string): boolean {
  return /gpt-?oss/i.test(name);
}

const MAX_QUOTE_CHARS = 200;

function quote(reason: string): string {
  const short = reason.length > MAX_QUOTE_CHARS ? `${reason.slice(0, MAX_QUOTE_CHARS)}…` : reason;
  return `"${short.replaceAll('"', "'").replace(/\.$/, "")}"`;
}
