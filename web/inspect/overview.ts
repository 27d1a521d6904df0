/** The overview above the turns: the engines' state, totals of the filtered turns, and problems. */
import { html, nothing, svg, type TemplateResult } from "lit-html";
import { guard } from "lit-html/directives/guard.js";
import { openTurn } from "./address.ts";
import { attempt } from "./attempt.ts";
import { plain, toCount, toDay, toMs, toTime } from "./format.ts";
import { toggle } from "./list.ts";
import { readKeyUses } from "./selection.ts";
import { state, visibleRows } from "./store.ts";
import { speedOf } from "./engine-speed.ts";
import { toKeys, toProblems, toTotals, type Totals } from "./totals.ts";
import type { EngineRow, Row } from "./types.ts";

const PROBLEM_WORDS = [
  ["error", "failed"],
  ["rejected", "rejected"],
  ["cut", "cut at the limit"],
] as const;

/** Maximum kinds of problems that are listed. */
const MAX_PROBLEMS = 5;

export function overviewBar(): TemplateResult {
  const rows = visibleRows();
  // Totals of thousands of turns take some milliseconds, and scrolling does not change them.
  return html`<section class="overview" aria-label="Overview">
    ${state.engines.map((engine) => engineLine(engine))}
    ${guard([rows], () => html`${totalsLine(rows)} ${problemsList(rows)}`)}
    ${guard([rows, state.filter, state.keyUses], () => keysTable(rows))}
  </section>`;
}

/** Maximum age of turns that count for an engine's first token and cache. */
const RECENT_MS = 300_000;

function engineLine(engine: EngineRow): TemplateResult {
  const { id, state: status, reason, version, contextLength, queued, backends } = engine;
  const running = backends.reduce((sum, { inFlight }) => sum + inFlight, 0);
  const speed = speedOf(id);
  const since = Date.now() - RECENT_MS;
  const totals = toTotals(
    state.rows.filter((row) => row.model === id && Date.parse(row.at) >= since),
  );
  const { p50 } = totals.firstToken;
  const facts = [
    version ?? status,
    contextLength === null ? "" : `${toCount(contextLength)} tokens`,
    `${toCount(running)} running`,
    queued > 0 ? `${toCount(queued)} queued` : "",
    speed === undefined ? "" : `${toCount(Math.round(speed.now))} tokens/s`,
    p50 === null ? "" : `first token p50 ${toMs(p50)}`,
    totals.promptTokens === 0 ? "" : `cache ${cachedShare(totals)} %`,
    state.overview?.isOneOfSeveral ? "this process only" : "",
  ];
  return html`<p class="engine">
    <span
      class="dot ${status === "ready" ? "good" : status === "unavailable" ? "bad" : "plain"}"
      aria-hidden="true"
    ></span>
    <strong>${id}</strong> ${facts.filter((fact) => fact !== "").join(" · ")}
    ${speed === undefined ? nothing : speedLine(speed.before)}
    ${reason === null ? nothing : html`<span class="why">${reason}</span>`}
    ${
      backends.length < 2
        ? nothing
        : html`<span class="quiet">
            ${backends.map((backend) => backendWords(backend)).join(" · ")}
          </span>`
    }
  </p>`;
}

function backendWords({ id, health, inFlight, failed }: EngineRow["backends"][number]): string {
  return `${id} ${health}, ${inFlight} running${failed > 0 ? `, ${toCount(failed)} failed` : ""}`;
}

const LINE = { width: 60, height: 16 };

/** A line of tokens per second over the last minutes. */
function speedLine(values: readonly number[]): TemplateResult {
  const most = Math.max(1, ...values);
  const points = values
    .map((value, index) => {
      const x = (index / (values.length - 1)) * LINE.width;
      return `${x.toFixed(1)},${(LINE.height - (value / most) * (LINE.height - 2)).toFixed(1)}`;
    })
    .join(" ");
  const words = `Tokens per second over five minutes, at most ${Math.round(most)}`;
  return html`<svg
    class="speed"
    viewBox="0 0 ${LINE.width} ${LINE.height}"
    width=${LINE.width}
    height=${LINE.height}
    role="img"
    aria-label=${words}
  >
    ${svg`<polyline points=${points}></polyline>`}
  </svg>`;
}

function cachedShare({ promptTokens, cachedTokens }: Totals): number {
  return promptTokens === 0 ? 0 : Math.round((cachedTokens / promptTokens) * 100);
}

function totalsLine(rows: readonly Row[]): TemplateResult | typeof nothing {
  if (rows.length === 0) return nothing;
  const totals = toTotals(rows);
  const { turns, failed, rejected, promptTokens, completionTokens, firstToken, duration } = totals;
  const speed =
    totals.tokensPerSecond === null ? "" : `${Math.round(totals.tokensPerSecond)} tokens/s`;
  const parts = [
    `${toCount(turns)} ${turns === 1 ? "turn" : "turns"}`,
    failed === 0 ? "" : `${((failed / (turns - rejected)) * 100).toFixed(1)} % failed`,
    `${toCount(promptTokens)} in (${cachedShare(totals)} % cached)`,
    `${toCount(completionTokens)} out`,
    `first token p50 ${toMs(firstToken.p50)}, p95 ${toMs(firstToken.p95)}`,
    `duration p50 ${toMs(duration.p50)}, p95 ${toMs(duration.p95)}`,
    speed,
  ];
  const shown = parts.filter((part) => part !== "");
  // The text wraps after a part and its dot.
  return html`<p class="totals">
    ${shown.map((part, at) => html`<span>${part}${at + 1 < shown.length ? " ·" : ""}</span> `)}
  </p>`;
}

function problemsList(rows: readonly Row[]): TemplateResult | typeof nothing {
  const problems = toProblems(rows);
  if (problems.length === 0) return nothing;
  const counts = PROBLEM_WORDS.flatMap(([status, word]) => {
    const count = problems.reduce(
      (sum, each) => sum + (each.status === status ? each.count : 0),
      0,
    );
    return count === 0 ? [] : [`${toCount(count)} ${word}`];
  });
  const [first] = problems;
  return html`<details class="problems ${first?.status === "error" ? "bad" : ""}">
    <summary>
      ⚠ ${counts.join(", ")}: <span class="quiet">${plain(first?.text ?? "")}</span>
    </summary>
    <ul>
      ${problems.slice(0, MAX_PROBLEMS).map(
        ({ text, count, keys, newest }) =>
          html`<li>
            <button type="button" class="pill" @click=${() => openTurn(newest.number)}>
              ${count > 1 ? `${toCount(count)} × ` : ""}${plain(text)}
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

/** Maximum keys that are listed, the busiest first. */
const MAX_KEYS = 50;

/**
 * The usage of each key. It is left out for a single key. Without a filter the data comes from the audit file, if there is one,
 * which includes requests before the start and those of dropped turns.
 */
function keysTable(rows: readonly Row[]): TemplateResult | typeof nothing {
  const audited = state.filter === "" ? state.keyUses : undefined;
  const keys = audited?.keys ?? toKeys(rows);
  if (keys.length < 2) return nothing;
  const unit = audited === undefined ? "turns" : "requests";
  const busiest = keys.slice(0, 3).map(({ key, requests }) => `${key} ${toCount(requests)}`);
  return html`<details class="keys" @toggle=${readAgain}>
    <summary>
      ${toCount(audited?.count ?? keys.length)} keys:
      <span class="quiet"
        >most ${unit} by ${busiest.join(", ")}
        ${audited === undefined ? nothing : `since ${toDay(audited.since)}, from the audit file`}</span
      >
    </summary>
    <div class="keys-box" tabindex="0" role="region" aria-label="${unit} by key">
      <table class="facts">
        <thead>
          <tr>
            ${["key", "clients", unit, "failed", "tokens in", "out", "p95", "last"].map(
              (name) => html`<th scope="col">${name}</th>`,
            )}
          </tr>
        </thead>
        <tbody>
          ${keys.slice(0, MAX_KEYS).map(
            ({ key, clients, requests, failed, promptTokens, completionTokens, p95, at }) =>
              html`<tr>
                <th scope="row">
                  <button type="button" class="mark" @click=${() => toggle("key", key)}>
                    ${key}
                  </button>
                </th>
                <td>${clients.join(", ")}</td>
                <td>${toCount(requests)}</td>
                <td class=${failed > 0 ? "bad" : ""}>${toCount(failed)}</td>
                <td>${toCount(promptTokens)}</td>
                <td>${toCount(completionTokens)}</td>
                <td>${toMs(p95)}</td>
                <td>${audited === undefined ? nothing : toDay(at)} ${toTime(at)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </details>`;
}

/** Reads the file again, which has grown. */
function readAgain({ target }: Event): void {
  const isOpened = target instanceof HTMLDetailsElement && target.open;
  if (isOpened && state.keyUses !== undefined) void attempt(readKeyUses);
}
