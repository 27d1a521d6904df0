/** Matches replies to calls. */
import type { WarningCode } from "./errors.ts";
import { FrameError } from "./frame.ts";

interface Call {
  readonly id: string;
  readonly tool: string;
  isAnswered: boolean;
}

export interface CallRules {
  /** Calls and replies without an id are accepted; an id is generated. */
  readonly makesIds: boolean;
  /** Ids that must not be generated, because the document contains them further on. */
  readonly reserved: ReadonlySet<string>;
}

/** The calls of a document so far. */
export class Calls {
  /** Ids that occur in the text. */
  readonly written = new Set<string>();
  /** Whether a generated id was found in the text later. */
  hasCollided = false;
  readonly #calls = new Map<string, Call>();
  /** Unanswered and answered calls of each tool, in order; those before `next` are answered. */
  readonly #byTool = new Map<string, { readonly calls: Call[]; next: number }>();
  readonly #made = new Set<string>();
  #count = 0;
  #orphans = 0;

  /** The id of a call. */
  add(tool: string, id: string | undefined, rules: CallRules): string {
    const known = this.#idOf(id, rules, "call");
    // If the id was generated here before it was found in the text, `hasCollided` reports that.
    if (this.#calls.has(known) && !this.#made.has(known)) {
      throw new FrameError(`call_id=${known} is used by two calls`);
    }
    const call = { id: known, tool, isAnswered: false };
    this.#calls.set(known, call);
    const ofTool = this.#byTool.get(tool);
    if (ofTool === undefined) this.#byTool.set(tool, { calls: [call], next: 0 });
    else ofTool.calls.push(call);
    return known;
  }

  /** Returns the id of a reply. Without an explicit id, it answers the oldest unanswered call of its tool. */
  answer(
    tool: string,
    id: string | undefined,
    rules: CallRules,
  ): { readonly id: string; readonly warning?: WarningCode } {
    const open = id === undefined && rules.makesIds ? this.#oldestOpen(tool) : undefined;
    const known = open?.id ?? this.#idOf(id, rules, "orphan");
    const call = this.#calls.get(known);
    if (call === undefined) return { id: known, warning: "W-UNMATCHED-REPLY" };
    call.isAnswered = true;
    return { id: known, ...(call.tool !== tool && { warning: "W-REPLY-NAME" as const }) };
  }

  /** Ids of unanswered calls, in order. */
  unanswered(): string[] {
    return [...this.#calls.values()].filter((call) => !call.isAnswered).map(({ id }) => id);
  }

  #idOf(id: string | undefined, rules: CallRules, kind: "call" | "orphan"): string {
    if (id !== undefined) {
      this.written.add(id);
      if (this.#made.has(id)) this.hasCollided = true;
      return id;
    }
    if (!rules.makesIds)
      throw new FrameError(`a ${kind === "call" ? "call" : "reply"} needs a call_id=`);
    let made;
    do {
      made = kind === "call" ? `call_${++this.#count}` : `orphan_${++this.#orphans}`;
    } while (this.#calls.has(made) || this.written.has(made) || rules.reserved.has(made));
    this.#made.add(made);
    return made;
  }

  #oldestOpen(tool: string): Call | undefined {
    const ofTool = this.#byTool.get(tool);
    if (ofTool === undefined) return undefined;
    while (ofTool.calls[ofTool.next]?.isAnswered) ofTool.next++;
    return ofTool.calls[ofTool.next];
  }
}
