/**
 * The APIs as clients see them. Each entry writes a case as its request and reads both forms of its answer into
 * the same shape; reading a stream checks the order of its events.
 */
import { chat } from "./api-chat.ts";
import { messages } from "./api-messages.ts";
import { responses } from "./api-responses.ts";
import type { Case } from "./case.ts";

export interface Api {
  readonly path: string;
  toBody(given: Case, stream: boolean): object;
  /** The next request of a tool loop: the plain answer, and a result for each of its calls. */
  toFollowUp(given: Case, answer: unknown, keepsReasoning: boolean): object;
  readonly readPlain: (body: unknown) => Observed;
  /** Throws a {@link StreamError} if the stream breaks a rule that clients rely on. */
  readonly readStream: (text: string) => Observed;
}

export interface Observed {
  readonly choices: readonly ObservedChoice[];
  readonly usage: ObservedUsage | undefined;
  /** The request failed completely. */
  readonly error?: string;
}

export interface ObservedChoice {
  readonly reasoning: string;
  readonly content: string;
  readonly calls: readonly ObservedCall[];
  /** `stop`, `length`, `tool-calls`, `error`. */
  readonly finish: string;
  /** If the API reports it. */
  readonly nativeReason?: string | null;
  /** Present with finish `error`. */
  readonly error?: string;
  /** The kinds of the parts in order, if the API keeps it. */
  readonly order?: readonly string[];
  readonly logprobs?: readonly ObservedLogprob[];
}

export interface ObservedCall {
  readonly id: string;
  readonly name: string;
  readonly args: string;
}

export interface ObservedLogprob {
  readonly token: string;
  readonly bytes: readonly number[] | null;
  readonly logprob: number;
}

export interface ObservedUsage {
  readonly prompt: number;
  readonly completion: number;
  readonly total: number;
  readonly reasoning: number;
}

/** All APIs. A new API needs one entry here. */
export const APIS: Readonly<Record<string, Api>> = { chat, responses, messages };
