/** Above the turns: the engines' state, totals of what the filter shows, and what went wrong. */
import { html, nothing, type TemplateResult } from "lit-html";
import { guard } from "lit-html/directives/guard.js";
import { toCount, toMs } from "./format.ts";
import { toggle } from "./list.ts";
import { state, visibleRows } from "./store.ts";
import { toProblems, toTotals } from "./totals.ts";
import type { EngineRow, Row } from "./types.ts";

/** Kinds of problems that are listed. */
const MAX_PROBLEMS = 5;

export function overviewBar(select: (number: number) => void): TemplateResult {
  const rows = visibleRows();
  // Totals of thousands of turns take some milliseconds: scrolling does not change them.
  return html`<section class="overview" aria-label="Overview">
    ${state.engines.map((engine) => engineLine(engine))}
    ${guard([rows], () => html`${totalsLine(rows)} ${problemsList(rows, select)}`)}
  </section>`;
}

function engineLine({
  id,
  state: status,
  reason,
  version,
  contextLength,
  queued,
  backends,
}: EngineRow): TemplateResult {
  const running = backends.reduce((sum, { inFlight }) => sum + inFlight, 0);
  const facts = [
    version ?? status,
    contextLength === null ? "" : `${toCount(contextLength)} tokens`,
    `${toCount(running)} running`,
    queued > 0 ? `${toCount(queued)} queued` : "",
  ];
  return html`<p class="engine">
    <span
      class="dot ${status === "ready" ? "good" : status === "unavailable" ? "bad" : "plain"}"
      aria-hidden="true"
    ></span>
    <strong>${id}</strong> ${facts.filter((fact) => fact !== "").join(" · ")}
    ${reason === null ? nothing : html`<span class="why">${reason}</span>`}
    ${
      backends.length < 2
        ? nothing
        : html`<span class="quiet">
            ${backends.map(({ id: name, health, inFlight }) => `${name} ${health}, ${inFlight} running`).join(" · ")}
          </span>`
    }
  </p>`;
}

function totalsLine(rows: readonly Row[]): TemplateResult | typeof nothing {
  if (rows.length === 0) return nothing;
  const totals = toTotals(rows);
  const { turns, failed, promptTokens, cachedTokens, completionTokens, firstToken, duration } =
    totals;
  const cached = promptTokens === 0 ? 0 : Math.round((cachedTokens / promptTokens) * 100);
  const speed =
    totals.tokensPerSecond === null ? "" : `${Math.round(totals.tokensPerSecond)} tokens/s`;
  const parts = [
    `${toCount(turns)} ${turns === 1 ? "turn" : "turns"}`,
    failed === 0 ? "" : `${((failed / turns) * 100).toFixed(1)} % failed`,
    `${toCount(promptTokens)} in (${cached} % cached)`,
    `${toCount(completionTokens)} out`,
    `first token p50 ${toMs(firstToken.p50)}, p95 ${toMs(firstToken.p95)}`,
    `duration p50 ${toMs(duration.p50)}, p95 ${toMs(duration.p95)}`,
    speed,
  ];
  return html`<p class="totals">${parts.filter((part) => part !== "").join(" · ")}</p>`;
}

function problemsList(
  rows: readonly Row[],
  select: (number: number) => void,
): TemplateResult | typeof nothing {
  const problems = toProblems(rows);
  if (problems.length === 0) return nothing;
  return html`<details class="problems">
    <summary>
      ${toCount(problems.reduce((sum, { count }) => sum + count, 0))} turns went wrong
    </summary>
    <ul>
      ${problems.slice(0, MAX_PROBLEMS).map(
        ({ text, count, keys, newest }) =>
          html`<li>
            <button type="button" class="plain" @click=${() => select(newest.number)}>
              ${count > 1 ? `${toCount(count)} × ` : ""}${text}
            </button>
            ${keys.map(
              (key) =>
                html`<button type="button" class="mark" @click=${() => toggle("key", key)}>
                  ${key}
                </button>`,
            )}
          </li>`,
      )}
    </ul>
  </details>`;
}
