/** The input from which a record is made. */
import type { Exchange } from "./exchange.ts";
import type { RecordBudget } from "./limits.ts";
import type { TurnRecording } from "./recording.ts";
import type { FindMessageSource } from "./sources.ts";

/** All data that was collected of a turn. */
export interface RecordInput {
  readonly id: string;
  readonly at: Date;
  /** Version of the package. */
  readonly gateway: string;
  readonly model: string | undefined;
  readonly tenant: string;
  /** Absent: the turn has no request of its own, such as one that makes a summary. */
  readonly exchange: Exchange | undefined;
  /** Absent: the request was refused before any turn. */
  readonly recording: TurnRecording | undefined;
  readonly budget: RecordBudget;
  /** Finds the source of a message's text. */
  readonly findSource: FindMessageSource;
}

/** The outcome of a turn, as in a record's `end`; `running` before it. */
export function outcomeOf({ exchange, recording }: RecordInput): string {
  if (recording === undefined) return outcomeWithoutTurn(exchange);
  return recording.failure?.outcome ?? recording.end?.finish ?? "running";
}

/** The outcome of a request that started no turn. */
export function outcomeWithoutTurn(exchange: Exchange | undefined): string {
  if (exchange === undefined || !exchange.hasEnded) return "running";
  const { status = 0, error, hasAnswer } = exchange;
  // The status of a stream is sent before later rejections.
  if (error !== undefined || status >= 400) return "rejected";
  return hasAnswer ? "answered" : "cancelled";
}
