/** Another model than gpt-oss behind the URL, the likeliest first mistake: how the probe's answers show it, and what to start. */
import { EngineError } from "./engine-error.ts";
import { listModels } from "./models-probe.ts";

/** What the server says that it serves. */
export interface Offer {
  /** `vllm at http://127.0.0.1:8000`. */
  readonly server: string;
  /** The configured model's name at the server. */
  readonly model: string;
  /** Absent: it has no list. */
  readonly models: readonly string[] | undefined;
  /** The command that starts gpt-oss there. Absent: the provider chooses. */
  readonly start: string | undefined;
}

export class OtherModelError extends EngineError {
  /** What the server serves, and what shows that it is not gpt-oss. */
  readonly finding: string;
  readonly change: string;

  /** @param evidence follows a colon: `it refused a prompt of token ids`. */
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

/** The configured model; if the server lists others only, those. */
export function toServed({ model, models = [] }: Offer): readonly string[] {
  return models.length === 0 || models.includes(model) ? [model] : models;
}

/**
 * A refused probe, with the server's reason. The prompt is the gateway's own, so that the words quote no client. Any other failure
 * stays as it is.
 */
export function explainRefusal(error: unknown, offer: Offer): unknown {
  const reason = error instanceof EngineError ? error.serverMessage : undefined;
  if (!(error instanceof EngineError) || reason === undefined) return error;
  const { kind, status } = error;
  // SGLang refuses in an event of its stream, which says no more than that something failed.
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

/** Whether a model's name says that it is gpt-oss. A fine-tuned model may have any name. */
export function isNamedGptOss(name: string): boolean {
  return /gpt-?oss/i.test(name);
}

const MAX_QUOTE_CHARS = 200;

function quote(reason: string): string {
  const short = reason.length > MAX_QUOTE_CHARS ? `${reason.slice(0, MAX_QUOTE_CHARS)}…` : reason;
  return `"${short.replaceAll('"', "'").replace(/\.$/, "")}"`;
}
