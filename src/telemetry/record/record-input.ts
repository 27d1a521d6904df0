/** What a record is made from. */
import type { Exchange } from "./exchange.ts";
import type { RecordBudget } from "./limits.ts";
import type { TurnRecording } from "./recording.ts";
import type { FindSource } from "./sources.ts";

/** Everything that is known of one turn. */
export interface RecordInput {
  readonly id: string;
  readonly at: Date;
  /** Of the package. */
  readonly gateway: string;
  readonly model: string | undefined;
  readonly tenant: string;
  /** Absent: the turn came without a request of its own, such as one that makes a summary. */
  readonly exchange: Exchange | undefined;
  /** Absent: the request was refused before any turn. */
  readonly recording: TurnRecording | undefined;
  readonly budget: RecordBudget;
  /** Where the text of a message came from. */
  readonly findSource: FindSource;
}

/** The outcome of a turn, as in a record's `end`; `running` before it. */
export function outcomeOf({ exchange, recording }: RecordInput): string {
  if (recording === undefined) return outcomeWithoutTurn(exchange?.status);
  return recording.failure?.outcome ?? recording.end?.finish ?? "running";
}

/** Of a request that made no turn. */
export function outcomeWithoutTurn(status: number | undefined): string {
  if (status === undefined) return "running";
  return status < 400 ? "answered" : "refused";
}
