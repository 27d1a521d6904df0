/** Holds events of parts back until the parts have been checked. The last step of the part emitter. */
import type { Part, TurnEvent } from "../turn.ts";

type PartKind = Part["kind"];

export interface HeldPart {
  readonly part: Part;
  readonly text: string;
}

const NOTHING: readonly PartKind[] = [];

export class EventHold {
  readonly #checks: (name: string) => boolean;
  #kinds: readonly PartKind[] = NOTHING;
  #held: { readonly kind: PartKind; readonly event: TurnEvent }[] = [];
  /** Parts already emitted, which cannot be discarded. */
  readonly #emitted = new Map<PartKind, number>();

  /** @param checks whether the arguments of a call are checked; only such calls are held */
  constructor(checks: (name: string) => boolean) {
    this.#checks = checks;
  }

  /** Holds further parts of these kinds, and no others. */
  hold(kinds: readonly PartKind[]): void {
    this.#kinds = kinds.length === 0 ? NOTHING : kinds;
  }

  holds(kind: PartKind): boolean {
    return this.#kinds.includes(kind);
  }

  holdsPart(part: Part): boolean {
    if (!this.holds(part.kind)) return false;
    // Calls without a check are not held: parts after them would be emitted first.
    return part.kind !== "tool-call" || this.#checks(part.name);
  }

  /** Adds the events of this part to `out`, unless they are held. */
  pass(part: Part, events: readonly TurnEvent[], out: TurnEvent[]): void {
    if (this.holdsPart(part)) {
      for (const event of events) this.#held.push({ kind: part.kind, event });
    } else {
      this.#emit(events, out);
    }
  }

  /** Returns all held events in order, and stops holding. */
  release(): TurnEvent[] {
    const released: TurnEvent[] = [];
    this.#emit(
      this.#held.map(({ event }) => event),
      released,
    );
    this.#held = [];
    this.#kinds = NOTHING;
    return released;
  }

  discard(kinds: readonly PartKind[]): void {
    this.#held = this.#held.filter(({ kind }) => !kinds.includes(kind));
  }

  /** Number of parts of this kind that have been emitted. */
  emitted(kind: PartKind): number {
    return this.#emitted.get(kind) ?? 0;
  }

  /** The held parts of this kind, with their text so far. */
  parts(kind: PartKind): readonly HeldPart[] {
    const parts: { part: Part; text: string }[] = [];
    for (const each of this.#held) {
      if (each.kind !== kind) continue;
      const { event } = each;
      const current = parts.at(-1);
      if (event.type === "part-start") parts.push({ part: event.part, text: "" });
      else if (event.type === "part-delta" && current) current.text += event.text;
    }
    return parts;
  }

  #emit(events: readonly TurnEvent[], out: TurnEvent[]): void {
    for (const event of events) {
      if (event.type === "part-start") {
        this.#emitted.set(event.part.kind, this.emitted(event.part.kind) + 1);
      }
      out.push(event);
    }
  }
}
