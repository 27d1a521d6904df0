/** Events of parts that are held back until they have been checked. */
import type { Part, TurnEvent } from "../turn.ts";

type PartKind = Part["kind"];

export interface HeldPart {
  readonly part: Part;
  readonly text: string;
}

const NOTHING: readonly PartKind[] = [];

export class HeldEvents {
  #holding: readonly PartKind[] = NOTHING;
  #held: { readonly kind: PartKind; readonly event: TurnEvent }[] = [];

  /** Holds further parts of these kinds, and no others. */
  hold(kinds: readonly PartKind[]): void {
    this.#holding = kinds.length === 0 ? NOTHING : kinds;
  }

  holds(kind: PartKind): boolean {
    return this.#holding.includes(kind);
  }

  /** Holds an event of a part of this kind. */
  push(kind: PartKind, event: TurnEvent): void {
    this.#held.push({ kind, event });
  }

  /** Returns all held events in order, and stops holding. */
  release(): TurnEvent[] {
    const released = this.#held.map(({ event }) => event);
    this.#held = [];
    this.#holding = NOTHING;
    return released;
  }

  discard(kinds: readonly PartKind[]): void {
    this.#held = this.#held.filter(({ kind }) => !kinds.includes(kind));
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
}
