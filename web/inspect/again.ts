/** Repeated runs of a turn, and the turns made from it: runs and forks, each with the first difference of its output. */
import { html, nothing, type TemplateResult } from "lit-html";
import { OPERATOR } from "../../src/inspect/again.ts";
import { loadDifference, runTurn } from "./api.ts";
import { attempt } from "./attempt.ts";
import { openTurn } from "./address.ts";
import { plain, toMs, toOutcome, toTime } from "./format.ts";
import { whoOf } from "./list.ts";
import { openComparison } from "./selection.ts";
import { state, update } from "./store.ts";
import type { Difference, Row } from "./types.ts";

/** Numbers of runs that a button starts, one after the other. */
const TIMES = [1, 5] as const;
/** Maximum related turns that are shown, runs first: any client may send a turn's id in a header. */
const MAX_SHOWN = 10;

export function runButtons(row: Row): TemplateResult | typeof nothing {
  const { runs } = state;
  if (runs !== undefined) {
    return html`<button type="button" class="pill" @click=${() => runs.abort.abort()}>
      Stop (run ${runs.at} of ${runs.times})
    </button>`;
  }
  // A request without a prompt was rejected before its turn began.
  if (!row.isComplete || !row.hasContent || row.promptTokens === null) return nothing;
  return html`<span class="joined">
    ${TIMES.map(
      (times) =>
        html`<button
          type="button"
          class="pill"
          title="Sends the same prompt to the engine again, as the operator. Tools are not run: their recorded results stand in."
          @click=${() => attempt(() => runAgain(row, times))}
        >
          ${times === 1 ? "Run again" : `× ${times}`}
        </button>`,
    )}
  </span>`;
}

async function runAgain(row: Row, times: number): Promise<void> {
  const abort = new AbortController();
  try {
    for (let at = 1; at <= times; at++) {
      update({ runs: { at, times, abort }, problem: "" });
      await runTurn(row, abort.signal);
    }
  } catch (error) {
    if (!abort.signal.aborted) throw error;
  } finally {
    update({ runs: undefined });
  }
}

/** The turn from which this one was made, and the turns made from it. */
export function relatives(row: Row): TemplateResult | typeof nothing {
  const { rows } = state;
  const origin = rows.find(({ id, number }) => id === row.forkedFrom && number < row.number);
  const made = rows
    .filter(({ forkedFrom, number }) => forkedFrom === row.id && number > row.number)
    .toSorted((a, b) => Number(isRun(b)) - Number(isRun(a)));
  if (row.forkedFrom === null && made.length === 0) return nothing;
  const others = made.length - MAX_SHOWN;
  return html`<ul class="relatives" aria-label="Runs and forks">
    ${stability(row, made)} ${row.forkedFrom === null ? nothing : originItem(row, origin)}
    ${made.slice(0, MAX_SHOWN).map((each) => madeItem(row, each))}
    ${others > 0 ? html`<li class="quiet">and ${others} more</li>` : nothing}
  </ul>`;
}

/** The number of runs with equal output. */
function stability(row: Row, made: readonly Row[]): TemplateResult | typeof nothing {
  const runs = made.slice(0, MAX_SHOWN).filter((each) => isRun(each) && each.isComplete);
  const found = runs.map((run) => knownDifference(row, run));
  const compared = found.filter((each) => each !== undefined && each !== null);
  if (compared.length < 2) return nothing;
  const same = compared.filter(({ output }) => output === null).length;
  return html`<li>
    <strong>${same} of ${compared.length} runs wrote the same.</strong>
  </li>`;
}

function isRun({ tenant }: Row): boolean {
  return tenant === OPERATOR;
}

function originItem(row: Row, origin: Row | undefined): TemplateResult {
  if (origin === undefined) {
    return html`<li class="quiet">Made from ${row.forkedFrom}, which is not kept.</li>`;
  }
  return html`<li>
    Made from
    <button type="button" class="pill" @click=${() => openTurn(origin.number)}>
      ${whoOf(origin)}, ${toTime(origin.at)}
    </button>
    ${outputOf(origin, row)} ${compareButton(origin)}
  </li>`;
}

function madeItem(row: Row, made: Row): TemplateResult {
  return html`<li>
    <button type="button" class="pill" @click=${() => openTurn(made.number)}>
      ${isRun(made) ? "Run" : `Fork by ${whoOf(made)}`}, ${toTime(made.at)}
    </button>
    ${toOutcome(made).word}, ${toMs(made.ms)}. ${outputOf(row, made)} ${compareButton(made)}
  </li>`;
}

function compareButton({ number }: Row): TemplateResult {
  return html`<button type="button" class="pill" @click=${() => openComparison(number)}>
    Compare
  </button>`;
}

/** The difference between the outputs of two turns, requested when it is first drawn. */
export function outputOf(before: Row, after: Row): TemplateResult | typeof nothing {
  if (!before.isComplete || !after.isComplete) return nothing;
  const difference = knownDifference(before, after);
  if (difference === undefined) return html`<span class="quiet">comparing …</span>`;
  if (difference === null) return nothing;
  const { isSamePrompt, output } = difference;
  const prompt = isSamePrompt ? "" : "Another prompt. ";
  if (output === null) return html`<strong>${prompt}The same output.</strong>`;
  return html`<span
    >${prompt}<strong>The output differs from ${output.unit} ${output.at}</strong>:
    <code class="was">${plain(output.was)}</code> became
    <code class="is">${plain(output.is)}</code></span
  >`;
}

const differences = new Map<string, Difference | null>();
const asked = new Set<string>();
/** Requests in sequence: each makes the gateway build two records. */
let asking: Promise<void> = Promise.resolve();

/** Undefined: the difference is loading. Null: there is no comparison. */
function knownDifference(before: Row, after: Row): Difference | null | undefined {
  // Numbers restart with the gateway.
  const key = [before.number, before.at, after.number, after.at].join("/");
  if (!asked.has(key)) {
    asked.add(key);
    asking = askAfter(asking, key, before, after);
  }
  return differences.get(key);
}

async function askAfter(other: Promise<void>, key: string, before: Row, after: Row): Promise<void> {
  await other;
  // A turn that was dropped has no difference.
  const difference = await loadDifference(before.number, after.number).catch(() => null);
  differences.set(key, difference);
  update({});
}
