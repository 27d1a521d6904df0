/** What a turn carries from one engine call to the next. */
import type { Engine } from "../engines/engine.ts";
import type { More } from "../flow.ts";
import type { Openings } from "../harmony/openings.ts";
import type { Renderer } from "../harmony/render.ts";
import type { TokenId, Tokenizer } from "../tokenizer/index.ts";
import type { Output } from "./output.ts";
import type { RepetitionGuard } from "./repetition.ts";
import type { Reader } from "./reader.ts";
import type { Steering } from "./steering.ts";
import type { Tally } from "./tally.ts";
import type { Transcript } from "./transcript.ts";
import type { Turn, TurnEvent } from "./turn.ts";

export interface Run {
  readonly turn: Turn;
  readonly engine: Engine;
  readonly steering: Steering;
  readonly contextLength: number | undefined;
  readonly signal: AbortSignal;
  /** Hands events over. False: nobody wants more of them, so nothing need be made. */
  readonly emit: (events: readonly TurnEvent[]) => More;
  readonly tokenizer: Tokenizer;
  readonly renderer: Renderer;
  readonly openings: Openings;
  readonly transcript: Transcript;
  readonly output: Output;
  readonly tally: Tally;
  readonly repetition: RepetitionGuard | undefined;
  readonly reader: Reader;
  /** The engine has accepted a request. */
  started: boolean;
  nativeReason: string | null;
  /** What the turn itself had to repair, by name; the parser counts its own. */
  readonly repairs: Map<string, number>;
}

/** Note that the turn had to step in. */
export function countRepair(run: Run, name: string): void {
  run.repairs.set(name, (run.repairs.get(name) ?? 0) + 1);
}

/** Nothing more comes of what is being written: the parser gives what it still has. */
export function closePart(run: Run, reason: "stop" | "length" = "stop"): void {
  void run.emit(run.output.push(run.reader.parser.end(reason)));
}

/** The beginning of a message after the `<|start|>assistant` that the prompt ends with. */
export function openFirst(run: Run, header: readonly TokenId[]): void {
  run.transcript.appendIds(header);
  void run.emit(run.output.push(run.reader.parser.pushIds(header)));
}

/** Ends what is being written and opens a message of our choice. */
export function openNext(run: Run, header: readonly TokenId[]): void {
  closePart(run);
  run.reader.restart();
  run.transcript.closeMessage();
  run.transcript.appendIds(run.openings.assistant);
  openFirst(run, header);
}
