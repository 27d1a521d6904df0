/**
 * From what the parser proves to what the turn gives out.
 *
 * Calls get their ids here, stop strings are matched here (on the answer only), and here a part can be
 * held until it is known to be right.
 */
import type { TokenLogprob } from "../engines/engine.ts";
import type { ParseEvent } from "../harmony/parse.ts";
import { FIRST_SPECIAL_ID } from "../tokenizer/index.ts";
import { createStopMatcher, type StopMatcher } from "./stop-strings.ts";
import type { Part, TurnEvent } from "./turn.ts";

export interface Output {
  /** Events for what the parser has just said. `logprobs` belong to the tokens of these events. */
  push(events: readonly ParseEvent[], logprobs?: readonly TokenLogprob[]): TurnEvent[];
  /** From now on, keep the parts of this kind back until `release` or `discard`. */
  hold(kind: Part["kind"]): void;
  /** What was held, to be given out; nothing is held any more. */
  release(): TurnEvent[];
  /** The parts of this kind that are held, with their text so far. */
  held(kind: Part["kind"]): readonly HeldPart[];
  /** Forget the parts of these kinds that were held, as if the model had never written them. Holding goes on. */
  discard(...kinds: readonly Part["kind"][]): void;
  holds(kind: Part["kind"]): boolean;
  /** The name of a call that may not be made, until the message it stood in is over. */
  readonly refused: string | undefined;
  /** The part that is open. */
  readonly part: Part | undefined;
  /** The part that is open, or else was last. */
  readonly last: Part | undefined;
  /** The text given out or held of that part. */
  readonly text: string;
  /** Parts begun so far, discarded ones not counted. */
  count(kind: Part["kind"]): number;
  /** The stop string that was met. Everything after it is ignored. */
  readonly stopSequence: string | undefined;
}

export interface HeldPart {
  readonly part: Part;
  readonly text: string;
}

export interface OutputOptions {
  readonly stop: readonly string[];
  readonly newCallId: () => string;
  /**
   * Show preambles as reasoning: beside an answer that must be a document, text for the user would make
   * it none.
   */
  readonly foldPreambles: boolean;
  /** Calls that may not be made: they are left out as if the model had not written them. */
  readonly refuses: (name: string) => boolean;
}

export function createOutput(options: OutputOptions): Output {
  const counts: Record<Part["kind"], number> = {
    reasoning: 0,
    preamble: 0,
    content: 0,
    "tool-call": 0,
  };
  let part: Part | undefined;
  let last: Part | undefined;
  let text = "";
  /** The part's start has been given out. */
  let shown = false;
  let matcher: StopMatcher | undefined;
  let stopSequence: string | undefined;
  let waiting: TokenLogprob[] = [];
  let refused: string | undefined;
  const holding = new Set<Part["kind"]>();
  let held: { readonly kind: Part["kind"]; readonly event: TurnEvent }[] = [];

  return {
    push(events, logprobs) {
      // The header's tokens come before the part is open, the terminator's is special.
      if (logprobs && part?.kind === "content") {
        waiting.push(...logprobs.filter((each) => each.id < FIRST_SPECIAL_ID));
      }
      const out: TurnEvent[] = [];
      for (const event of events) {
        if (stopSequence !== undefined) break;
        if (
          event.type === "part-start" &&
          event.part === "tool-call" &&
          options.refuses(event.name)
        ) {
          refused = event.name;
        }
        if (refused === undefined) {
          for (const each of convert(event)) {
            if (part && holding.has(part.kind)) held.push({ kind: part.kind, event: each });
            else out.push(each);
          }
        }
        if (event.type === "part-end") {
          part = undefined;
          refused = undefined;
        }
      }
      if (part?.kind !== "content") waiting = [];
      return out;
    },
    hold(kind) {
      holding.add(kind);
    },
    holds: (kind) => holding.has(kind),
    get refused() {
      return refused;
    },
    release() {
      const released = held.map(({ event }) => event);
      held = [];
      holding.clear();
      return released;
    },
    held(kind) {
      const parts: { part: Part; text: string }[] = [];
      for (const each of held) {
        if (each.kind !== kind) continue;
        const { event } = each;
        const current = parts.at(-1);
        if (event.type === "part-start") parts.push({ part: event.part, text: "" });
        else if (event.type === "part-delta" && current) current.text += event.text;
      }
      return parts;
    },
    discard(...kinds) {
      held = held.filter(({ kind }) => !kinds.includes(kind));
      for (const kind of kinds) if (holding.has(kind)) counts[kind] = 0;
    },
    get part() {
      return part;
    },
    get last() {
      return last;
    },
    get text() {
      return text;
    },
    count: (kind) => counts[kind],
    get stopSequence() {
      return stopSequence;
    },
  };

  function convert(event: ParseEvent): TurnEvent[] {
    switch (event.type) {
      case "part-start": {
        const opened = toPart(event);
        part = opened;
        last = opened;
        text = "";
        counts[opened.kind]++;
        const stoppable = opened.kind === "content" && options.stop.length > 0;
        matcher = stoppable ? createStopMatcher(options.stop) : undefined;
        shown = opened.kind === "tool-call";
        return shown ? [{ type: "part-start", part: opened }] : [];
      }
      case "part-delta":
        return delta(matcher ? matcher.push(event.text) : event.text);
      case "part-end": {
        const rest = delta(matcher?.end() ?? "");
        return shown ? [...rest, { type: "part-end" }] : rest;
      }
      default:
        return event satisfies never;
    }
  }

  function toPart(event: Extract<ParseEvent, { type: "part-start" }>): Part {
    if (event.part === "tool-call") {
      return { kind: "tool-call", id: options.newCallId(), name: event.name };
    }
    const folded = event.part === "preamble" && options.foldPreambles;
    return { kind: folded ? "reasoning" : event.part };
  }

  function delta(safe: string): TurnEvent[] {
    const events: TurnEvent[] = [];
    if (safe !== "") {
      // A message without text, such as an empty thought, is nothing to show.
      if (!shown && part) events.push({ type: "part-start", part });
      shown = true;
      text += safe;
      const logprobs = part?.kind === "content" && waiting.length > 0 ? waiting : undefined;
      if (logprobs) waiting = [];
      events.push({ type: "part-delta", text: safe, ...(logprobs && { logprobs }) });
    }
    if (matcher?.matched !== undefined && stopSequence === undefined) {
      stopSequence = matcher.matched;
      if (shown) events.push({ type: "part-end" });
    }
    return events;
  }
}
