/** Tokens and text, in three views. Control tokens are chips, which typed text cannot imitate. */
import { html, nothing, type TemplateResult } from "lit-html";
import type { RecordedRecovery } from "../../src/telemetry/record/schema.ts";
import { plain, shown } from "./format.ts";
import { state } from "./store.ts";
import type { Unit } from "./units.ts";
import { inBlocks } from "./windowed.ts";

/** A control token as a chip: `start` for `<|start|>`. */
export function chip(name: string, id?: number): TemplateResult {
  const label = name.replaceAll(/[<>|]/g, "");
  const title = id === undefined ? "spelled out by the engine" : `control token ${id}`;
  return html`<span class="chip ${id === undefined ? "spelled" : ""}" title=${title}
    >${label}</span
  >`;
}

/** Number of tokens in one block of the document. */
const BLOCK = 800;

/** A sequence of tokens. `key` changes when the tokens do. */
export function tokenFlow(
  units: readonly Unit[],
  key: unknown,
  pins: ReadonlyMap<number, readonly RecordedRecovery[]> = new Map(),
): TemplateResult {
  const blockKey = `${String(key)} ${units.length} ${state.view}`;
  const content = inBlocks(units, BLOCK, blockKey, (own) =>
    state.view === "tokens" ? cells(own, pins) : runs(own, pins),
  );
  // White space in the template would be visible.
  return html`<div class="flow ${state.view}">${content}</div>`;
}

function cells(
  units: readonly Unit[],
  pins: ReadonlyMap<number, readonly RecordedRecovery[]>,
): TemplateResult {
  return html`${units.map((unit) => {
    const title = `${unit.id === undefined ? "text" : `id ${unit.id}`} · ${Math.round(unit.ms)} ms`;
    return html`<span
        class="cell ${unit.hue ?? ""} ${unit.isUsed ? "" : "unused"} ${unit.isSpecial ? "special" : ""}"
        data-part=${unit.part ?? nothing}
        title=${title}
        >${unit.isSpecial ? unit.text.replaceAll(/[<>|]/g, "") : visible(unit.text)}</span
      >${pinsAt(unit, pins)}`;
  })}`;
}

/** Makes white space visible. */
function visible(text: string): string {
  return plain(text)
    .replaceAll("\n", "↵")
    .replaceAll("\t", "⇥")
    .replace(/^ +$/, (run) => "·".repeat(run.length));
}

/** Joins adjacent tokens of equal kind. */
function runs(
  units: readonly Unit[],
  pins: ReadonlyMap<number, readonly RecordedRecovery[]>,
): TemplateResult {
  const found: TemplateResult[] = [];
  let text = "";
  let last: Unit | undefined;
  const decoder = new TextDecoder();
  const flush = (): void => {
    text += decoder.decode();
    if (last !== undefined && text !== "") {
      found.push(
        html`<span
          class="run ${last.hue ?? ""} ${last.isUsed ? "" : "unused"}"
          data-part=${last.part ?? nothing}
          >${plain(text)}</span
        >`,
      );
    }
    text = "";
  };
  for (const unit of units) {
    if (unit.isSpecial) {
      flush();
      found.push(chip(unit.text, unit.id));
    } else {
      if (last?.part !== unit.part || last?.isUsed !== unit.isUsed) flush();
      text += unit.bytes
        ? decoder.decode(Uint8Array.from(unit.bytes), { stream: true })
        : decoder.decode() + unit.text;
    }
    last = unit;
    if (pins.has(unit.at)) {
      flush();
      found.push(html`${pinsAt(unit, pins)}`);
    }
  }
  flush();
  return html`${found}`;
}

function pinsAt(
  { at }: Unit,
  pins: ReadonlyMap<number, readonly RecordedRecovery[]>,
): readonly TemplateResult[] {
  return (pins.get(at) ?? []).map((each) => pin(each));
}

/** A repair at its position: the original text, and the result. */
export function pin({ name, was, became }: RecordedRecovery): TemplateResult {
  return html`<details class="pin">
    <summary><span class="pin-mark" aria-hidden="true">⚑</span>${name}</summary>
    <dl>
      <dt>stood there</dt>
      <dd><code>${shown(was) || "nothing"}</code></dd>
      <dt>became</dt>
      <dd>${became}</dd>
    </dl>
  </details>`;
}
