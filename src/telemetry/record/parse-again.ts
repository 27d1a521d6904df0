/**
 * Parses a recorded turn again, token by token. The result of parsing does not depend on how the input is split, so this yields
 * the original parts and recoveries with their positions, without any cost while the turn runs.
 */
import type { EngineTokens } from "../../engines/engine.ts";
import type { ParseEvent, PartKind } from "../../harmony/parse.ts";
import { isSpecial, o200kHarmony, specialTokenName, type TokenId } from "../../tokenizer/index.ts";
import type { ParsingOptions } from "../../turn/facts.ts";
import { oneByOne } from "../../turn/reading/token-units.ts";
import { TurnParser } from "../../turn/reading/turn-parser.ts";
import type { ReadLog } from "./read-log.ts";
import type { ParserNote, TurnRecording } from "./recording.ts";
import { SLICE, type RecordSlices } from "./build-slices.ts";

export interface ParsedPart {
  readonly kind: PartKind;
  readonly name: string | undefined;
  readonly channel: string | undefined;
  readonly recipient: string | undefined;
  readonly contentType: string | undefined;
  text: string;
  readonly header: "model" | "gateway";
  readonly spans: Span[];
}

/** A range of a call's units: `from` is inclusive, `to` is not. */
export interface Span {
  readonly call: number;
  readonly from: number;
  to: number;
}

export interface ParsedRecovery {
  readonly name: string;
  readonly call: number;
  /** The unit at which the parser made the recovery. */
  readonly at: number;
  /** The text of the message up to this point, or its end. */
  readonly was: string;
  became: string;
}

export interface ParsedTurn {
  readonly parts: readonly ParsedPart[];
  readonly recoveries: readonly ParsedRecovery[];
}

/** Length of a recovery's excerpt, in characters. */
const MAX_WAS = 160;

/** The parts of a turn up to now. Parsing continues while the turn runs, so that each token is parsed once. */
export class ParsedAgain {
  readonly #recording: TurnRecording;
  #pass: ParserPass | undefined;
  readonly #calls: Iterator<EngineTokens>[] = [];
  /** Index of the next parser note, and the number of its parsed units. */
  #note = 0;
  #units = 0;

  constructor(recording: TurnRecording) {
    this.#recording = recording;
  }

  get parsed(): ParsedTurn {
    return this.#pass ?? NOTHING_PARSED;
  }

  /** Parses the units that were added since the last call, which must have ended. */
  *advance(): RecordSlices<void> {
    const { parser: notes, rendered } = this.#recording;
    if (rendered === undefined) return;
    const pass = (this.#pass ??= new ParserPass(rendered.parsing));
    let inSlice = 0;
    for (let note = notes[this.#note]; note !== undefined; note = notes[this.#note]) {
      if (note.type !== "read") {
        pass.apply(note);
      } else {
        const { call } = note;
        const units = this.#unitsOf(call);
        while (this.#units < note.units) {
          const unit = units?.next();
          this.#units += 1;
          // Reads beyond the record's limit are missing.
          if (unit?.done === false) pass.unit(call, unit.value);
          if (++inSlice % SLICE === 0) yield;
        }
        // The last note can still grow.
        if (this.#note === notes.length - 1) return;
      }
      this.#note += 1;
      this.#units = 0;
    }
  }

  #unitsOf(call: number): Iterator<EngineTokens> | undefined {
    const note = this.#recording.calls[call];
    if (note === undefined) return undefined;
    return (this.#calls[call] ??= unitsIn(note.reads));
  }
}

const NOTHING_PARSED: ParsedTurn = { parts: [], recoveries: [] };

/** The units of a call, including those that are added while it is iterated. */
function* unitsIn({ reads }: ReadLog): Generator<EngineTokens> {
  for (const { tokens } of reads) yield* oneByOne(tokens);
}

class ParserPass implements ParsedTurn {
  readonly parts: ParsedPart[] = [];
  readonly recoveries: ParsedRecovery[] = [];
  readonly #tokenizer = o200kHarmony();
  readonly #options: ParsingOptions;
  #parser: TurnParser | undefined;
  #call = 0;
  #at = 0;
  /** Index of the message's first unit, and the text up to now. */
  #from = 0;
  #text = "";
  #decoder = this.#tokenizer.createDecoder();
  #headerBy: "model" | "gateway" = "model";
  #known = new Map<string, number>();
  /** Recoveries whose part is not known yet. */
  #unexplained: ParsedRecovery[] = [];
  #open: ParsedPart | undefined;

  constructor(options: ParsingOptions) {
    this.#options = options;
  }

  apply(note: Exclude<ParserNote, { type: "read" }>): void {
    switch (note.type) {
      case "markers":
        return this.#readAs(note.markers);
      case "header":
        return this.#header(note.ids);
      case "end":
        return this.#end(note.reason);
      case "restart":
        return this.#restart();
      default:
        note satisfies never;
    }
  }

  #readAs(markers: "shown" | "hidden"): void {
    const reading = { markers, allowHiddenMarkers: true, onShownMarker: () => undefined };
    if (this.#parser === undefined) {
      this.#parser = new TurnParser(this.#tokenizer, { ...this.#options, ...reading });
    } else {
      this.#parser.readAs(reading);
    }
  }

  unit(call: number, tokens: EngineTokens): void {
    if (call !== this.#call) {
      this.#call = call;
      this.#at = 0;
      this.#beginMessage();
    }
    this.#at += 1;
    this.#text = (this.#text + this.#textOf(tokens)).slice(-MAX_WAS);
    this.#take(this.#parser?.push(tokens) ?? []);
    if (this.#parser?.position === "between") this.#beginMessage();
  }

  #header(ids: readonly TokenId[]): void {
    this.#headerBy = ids.length > 0 ? "gateway" : this.#headerBy;
    this.#take(this.#parser?.pushIds(ids) ?? []);
  }

  #end(reason: "stop" | "length" | "cut"): void {
    this.#take(this.#parser?.end(reason) ?? []);
    for (const each of this.#unexplained) each.became = "nothing";
    this.#unexplained = [];
  }

  #restart(): void {
    this.#parser?.restart();
    this.#headerBy = "model";
    this.#beginMessage();
  }

  #beginMessage(): void {
    this.#from = this.#at;
    this.#text = "";
  }

  #take(events: readonly ParseEvent[]): void {
    for (const event of events) {
      switch (event.type) {
        case "part-start":
          this.#open = toPart(event, this.#headerBy, {
            call: this.#call,
            from: this.#from,
            to: this.#at,
          });
          this.parts.push(this.#open);
          // Further messages of this call have headers of their own.
          this.#headerBy = "model";
          break;
        case "part-delta":
          if (this.#open) {
            this.#open.text += event.text;
            this.#extend(this.#open);
          }
          break;
        case "part-end":
          if (this.#open) this.#extend(this.#open);
          this.#open = undefined;
          break;
        default:
          event satisfies never;
      }
    }
    this.#noteRecoveries(events);
  }

  #extend(part: ParsedPart): void {
    const last = part.spans.at(-1);
    if (last?.call === this.#call) last.to = Math.max(last.to, this.#at);
    else part.spans.push({ call: this.#call, from: this.#from, to: this.#at });
  }

  #noteRecoveries(events: readonly ParseEvent[]): void {
    const started = events.findLast((event) => event.type === "part-start");
    const part = started === undefined ? this.#open : this.parts.at(-1);
    for (const [name, count] of this.#parser?.recoveries ?? []) {
      for (let more = count - (this.#known.get(name) ?? 0); more > 0; more--) {
        const was = this.#text;
        const recovery = { name, call: this.#call, at: this.#at, was, became: "" };
        this.recoveries.push(recovery);
        this.#unexplained.push(recovery);
      }
      this.#known.set(name, count);
    }
    if (part === undefined) return;
    for (const each of this.#unexplained) each.became = label(part);
    this.#unexplained = [];
  }

  #textOf(tokens: EngineTokens): string {
    switch (tokens.type) {
      case "ids":
        return tokens.ids
          .map((id) => (isSpecial(id) ? this.#decoder.end() + nameOf(id) : this.#decoder.push(id)))
          .join("");
      case "pieces":
        return tokens.pieces
          .map((piece) => ("special" in piece ? nameOf(piece.special) : piece.text))
          .join("");
      case "text":
        return tokens.text;
      default:
        return tokens satisfies never;
    }
  }
}

function nameOf(id: TokenId): string {
  return specialTokenName(id) ?? `[${id}]`;
}

function toPart(
  event: Extract<ParseEvent, { type: "part-start" }>,
  header: ParsedPart["header"],
  span: Span,
): ParsedPart {
  return {
    kind: event.part,
    name: "name" in event ? event.name : undefined,
    channel: event.header?.channel,
    recipient: event.header?.recipient,
    contentType: event.header?.contentType,
    text: "",
    header,
    spans: [span],
  };
}

function label({ kind, name }: ParsedPart): string {
  return name === undefined ? kind : `${kind} ${name}`;
}
