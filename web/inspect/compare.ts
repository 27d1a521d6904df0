/** Two turns side by side: differences in settings and prompt first, then in the results. */
import { html, nothing, type TemplateResult } from "lit-html";
import type { TurnRecord } from "../../src/telemetry/record/schema.ts";
import { outputOf } from "./again.ts";
import { hueOfMessage, LETTERS, plain, shown, toCount, toMs } from "./format.ts";
import { pickOther } from "./selection.ts";
import { state } from "./store.ts";
import type { LoadedTurn } from "./types.ts";

export function comparePane(): TemplateResult {
  const { turn, other, rows } = state;
  if (turn === undefined) return html`<p class="quiet pad">Select a turn first.</p>`;
  return html`<section class="compare" aria-labelledby="compare-title">
    <h2 id="compare-title" class="unseen">Compare</h2>
    <label
      >${plain(turn.row.words || turn.row.id)} with
      <select
        class="pill"
        @change=${(event: Event) => {
          if (event.target instanceof HTMLSelectElement) pickOther(Number(event.target.value));
        }}
      >
        <option value="">choose another turn</option>
        ${rows
          .filter(({ number }) => number !== turn.row.number)
          .slice(0, 200)
          .map(
            (row) =>
              html`<option value=${row.number} ?selected=${row.number === other?.row.number}>
                ${row.number}: ${plain(row.words || row.id)}
              </option>`,
          )}
      </select>
    </label>
    ${other === undefined ? nothing : differences(turn, other)}
  </section>`;
}

function differences(left: LoadedTurn, right: LoadedTurn): TemplateResult {
  const facts = [
    ...compareFacts(settingsOf(left.record), settingsOf(right.record)),
    ...compareFacts(outcomeOf(left.record), outcomeOf(right.record)),
  ];
  const messages = align(left.record.conversation, right.record.conversation, (each) =>
    JSON.stringify(each),
  );
  const parts = align(
    left.record.parts,
    right.record.parts,
    ({ kind, text }) => `${kind} ${shown(text)}`,
  );
  const same = messages.filter(({ side }) => side === "both").length;
  return html`
    <h3>Settings and outcome</h3>
    ${
      facts.length === 0
        ? html`<p class="quiet">The same.</p>`
        : html`<table class="facts">
            <thead>
              <tr>
                <th scope="col">what</th>
                <th scope="col">turn ${left.row.number}</th>
                <th scope="col">turn ${right.row.number}</th>
              </tr>
            </thead>
            <tbody>
              ${facts.map(
                ([name, a, b]) =>
                  html`<tr>
                    <th scope="row">${name}</th>
                    <td>${a}</td>
                    <td>${b}</td>
                  </tr>`,
              )}
            </tbody>
          </table>`
    }
    <h3>Conversation</h3>
    <p class="quiet">${same} messages are the same.</p>
    ${messages
      .filter(({ side }) => side !== "both")
      .map(({ side, value }) => {
        const hue = hueOfMessage(value);
        return html`<article class="card ${hue}">
          <div class="card-head">
            <span class="badge ${hue}" aria-hidden="true">${LETTERS[hue]}</span>
            <strong>${value.role}</strong> <span>${value.channel ?? ""}</span>
            <span class="source">${sideName(side, left, right)}</span>
            ${value.dropped ? html`<span class="why">left out</span>` : nothing}
            <span class="quiet end">${toCount(value.tokens)} tokens</span>
          </div>
          <div class="text">${shown(value.text).slice(0, 2000)}</div>
        </article>`;
      })}
    <h3>What was made of it</h3>
    <p>${outputOf(left.row, right.row)}</p>
    ${parts
      .filter(({ side }) => side !== "both")
      .map(
        ({ side, value }) =>
          html`<article class="card">
            <div class="card-head">
              <strong>${value.kind}</strong> <code>${value.name ?? ""}</code>
              <span class="source">${sideName(side, left, right)}</span>
            </div>
            <div class="text">${shown(value.text).slice(0, 2000)}</div>
          </article>`,
      )}
  `;
}

type Side = "left" | "right" | "both";

function sideName(side: Side, left: LoadedTurn, right: LoadedTurn): string {
  return `only in turn ${side === "left" ? left.row.number : right.row.number}`;
}

function settingsOf({ settings, model, engine, calls }: TurnRecord): Map<string, string> {
  const facts = new Map<string, string>([
    ["model", model],
    ["engine", engine ?? ""],
  ]);
  for (const [name, value] of Object.entries(settings ?? {})) flatten(name, value, facts);
  for (const [name, value] of Object.entries(calls[0]?.sampling ?? {})) {
    facts.set(name, String(value));
  }
  return facts;
}

function outcomeOf({ end, times, decisions, recoveries }: TurnRecord): Map<string, string> {
  return new Map([
    ["outcome", end?.outcome ?? "running"],
    ["tokens in", toCount(end?.usage?.promptTokens)],
    ["tokens out", toCount(end?.usage?.completionTokens)],
    ["first token", toMs(times.firstToken)],
    ["decisions", decisions.map(({ type }) => type).join(" → ")],
    ["repairs", recoveries.map(({ name }) => name).join(", ")],
  ]);
}

function flatten(name: string, value: unknown, facts: Map<string, string>): void {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    for (const [key, each] of Object.entries(value)) flatten(`${name}.${key}`, each, facts);
  } else {
    facts.set(
      name,
      Array.isArray(value) ? value.map((each) => JSON.stringify(each)).join(", ") : String(value),
    );
  }
}

function compareFacts(
  left: ReadonlyMap<string, string>,
  right: ReadonlyMap<string, string>,
): readonly (readonly [string, string, string])[] {
  const names = new Set([...left.keys(), ...right.keys()]);
  return [...names].flatMap((name) => {
    const a = left.get(name) ?? "";
    const b = right.get(name) ?? "";
    return a === b ? [] : [[name, a || "–", b || "–"] as const];
  });
}

/** Maximum entries. Further ones are left out. */
const MAX_ALIGNED = 500;

/** Aligns entries by their longest common subsequence, so that one added message does not make all later ones differ. */
function align<T>(
  left: readonly T[],
  right: readonly T[],
  keyOf: (value: T) => string,
): { readonly side: Side; readonly value: T }[] {
  const toKeyed = (value: T) => ({ key: keyOf(value), value });
  const a = left.slice(0, MAX_ALIGNED).map(toKeyed);
  const b = right.slice(0, MAX_ALIGNED).map(toKeyed);
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const row = lengths[i];
      if (row === undefined) continue;
      row[j] =
        a[i]?.key === b[j]?.key
          ? (lengths[i + 1]?.[j + 1] ?? 0) + 1
          : Math.max(lengths[i + 1]?.[j] ?? 0, row[j + 1] ?? 0);
    }
  }
  const found: { side: Side; value: T }[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    const own = a[i];
    const other = b[j];
    if (own !== undefined && other !== undefined && own.key === other.key) {
      found.push({ side: "both", value: own.value });
      i++;
      j++;
    } else if (
      own !== undefined &&
      (other === undefined || (lengths[i + 1]?.[j] ?? 0) >= (lengths[i]?.[j + 1] ?? 0))
    ) {
      found.push({ side: "left", value: own.value });
      i++;
    } else if (other !== undefined) {
      found.push({ side: "right", value: other.value });
      j++;
    }
  }
  return found;
}
