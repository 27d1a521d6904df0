/** An answer while it is written: events of any API add to its parts. */
import type { ApiName } from "../../../src/snippets/composed.ts";
import type { AnswerPart, GatewayCall, Usage } from "../conversation.ts";

/** Maximum characters of a result. */
const MAX_RESULT = 20_000;

export class Draft {
  readonly parts: AnswerPart[];
  usage: Usage = {};
  finish: string | undefined;
  problem: string | undefined;
  /** The last part of a continued answer before its continuation. */
  readonly #before: AnswerPart | undefined;
  readonly #now: () => number;

  /** @param parts earlier parts of the answer, in a loop of tool calls */
  constructor(parts: readonly AnswerPart[], now: () => number) {
    this.parts = [...parts];
    this.#before = parts.at(-1);
    this.#now = now;
  }

  /** Appends to the last part if it has this type and `isNew` is false. A stopped text continues; a stopped thought does not. */
  write(type: "reasoning" | "text", text: string, isNew = false): void {
    if (text === "" && !isNew) return;
    const last = this.parts.at(-1);
    const at = this.#now();
    const goesOn = last === this.#before ? type === "text" : !isNew;
    if (goesOn && last?.type === type)
      this.#replaceLast({ ...last, text: last.text + text, ended: at });
    else this.parts.push({ type, text, began: at, ended: at });
  }

  seal(api: ApiName, value: object): void {
    const index = this.parts.findLastIndex((part) => part.type === "reasoning");
    const part = this.parts[index];
    if (part?.type === "reasoning" && part.sealed === undefined) {
      this.parts[index] = { ...part, sealed: { api, value } };
    }
  }

  call(id: string, name: string): void {
    const at = this.#now();
    this.parts.push({ type: "call", id, name, arguments: "", began: at, ended: at });
  }

  writeArguments(id: string, text: string): void {
    const index = this.#find(id);
    const part = this.parts[index];
    if (part === undefined || !("arguments" in part)) return;
    this.parts[index] = { ...part, arguments: part.arguments + text, ended: this.#now() };
  }

  /** Notes a call that the gateway runs: at its start, and with later changes. */
  ran(id: string, changes: Partial<Omit<GatewayCall, "type" | "id">>): void {
    const index = this.#find(id);
    const part = this.parts[index];
    const at = this.#now();
    const result = changes.result?.slice(0, MAX_RESULT);
    const known = { ...changes, ...(result !== undefined && { result }), ended: at };
    if (part?.type === "ran") this.parts[index] = { ...part, ...known };
    else this.parts.push({ type: "ran", id, name: "", arguments: "", began: at, ...known });
  }

  #find(id: string): number {
    return this.parts.findLastIndex((part) => "arguments" in part && part.id === id);
  }

  #replaceLast(part: AnswerPart): void {
    this.parts[this.parts.length - 1] = part;
  }
}

/** Receives the data of one event. */
export type ReadEvent = (event: Readonly<Record<string, unknown>>) => void;
