/** The model's output: engine calls as lanes on one time axis, then the tokens of each call. */
import { html, nothing, type TemplateResult } from "lit-html";
import type {
  RecordedCall,
  RecordedRecovery,
  TurnRecord,
} from "../../src/telemetry/record/schema.ts";
import { chart } from "./chart.ts";
import { DECISIONS, idsOf, isSpecial, shown, toCount, tokenText, toMs } from "./format.ts";
import { chip, pin, tokenFlow } from "./tokens.ts";
import type { LoadedTurn } from "./types.ts";
import { type Unit, unitsOfCall } from "./units.ts";

export function outputBand(turn: LoadedTurn): TemplateResult {
  const { record } = turn;
  const calls = record.calls.map((call, index) => ({
    call,
    index,
    units: unitsOfCall(call, index, record, turn.tokens),
  }));
  return html`<section class="band" aria-labelledby="band-wrote">
    <header class="band-head">
      <h2 id="band-wrote">Model output</h2>
      <p>${summarize(record)}</p>
    </header>
    ${
      calls.length === 0
        ? html`<p class="quiet">No engine was called.</p>`
        : html`${lanes(calls, record)} ${calls.map((each) => callCard(each, turn))}`
    }
  </section>`;
}

interface ShownCall {
  readonly call: RecordedCall;
  readonly index: number;
  readonly units: readonly Unit[];
}

function summarize({ calls, times, end }: TurnRecord): string {
  const tokens = end?.usage?.completionTokens;
  const rate = tokensPerSecond(calls);
  const words = [
    `${calls.length} engine ${calls.length === 1 ? "call" : "calls"}`,
    tokens === undefined ? "" : `${toCount(tokens)} tokens`,
    times.firstToken === null
      ? prefillWords(calls[0])
      : `first token after ${toMs(times.firstToken)}`,
    rate === undefined ? "" : `${rate} tokens/s`,
  ];
  return words.filter(Boolean).join(" · ");
}

/** Progress of the prompt before the first token. */
function prefillWords(call: RecordedCall | undefined): string {
  if (call?.prefill === undefined) return "";
  const { processed, total } = call.prefill;
  return `prompt ${toCount(processed)} of ${toCount(total)}`;
}

function tokensPerSecond(calls: readonly RecordedCall[]): number | undefined {
  let tokens = 0;
  let ms = 0;
  for (const { reads, firstToken, ended } of calls) {
    for (const read of reads) tokens += "ids" in read ? idsOf(read.ids).length : 1;
    if (firstToken !== null && ended !== null) ms += ended - firstToken;
  }
  return ms > 0 ? Math.round((tokens / ms) * 1000) : undefined;
}

/** The time axis. The list beside it contains equal information in words. */
function lanes(calls: readonly ShownCall[], record: TurnRecord): TemplateResult {
  const ends = calls.map(({ call }) => call.ended ?? call.reads.at(-1)?.ms ?? call.asked);
  const results = record.parts.filter(({ kind }) => kind === "tool-result");
  const total = Math.max(1, ...ends, ...results.map(({ ended = 0 }) => ended));
  const place = (ms: number) => `${((ms / total) * 100).toFixed(2)}%`;
  return html`<div class="lanes">
    ${chart(calls, total)}
    <ol class="lane-list">
      ${calls.map(({ call, index }) => {
        const end = ends[index] ?? call.asked;
        const first = call.firstToken ?? end;
        const pins = record.recoveries.filter((each) => each.call === index).length;
        const words = `Call ${index + 1}: asked at ${toMs(call.asked)}, first token at ${toMs(call.firstToken)}, ended at ${toMs(end)}`;
        return html`<li aria-label=${words}>
          <span class="lane-name">${index + 1}</span>
          <span class="lane" title=${words}>
            <span
              class="lane-wait"
              .style=${`left:${place(call.asked)};width:${place(first - call.asked)}`}
            ></span>
            <span
              class="lane-write ${call.error ? "failed" : ""}"
              .style=${`left:${place(first)};width:max(3px,${place(end - first)})`}
            ></span>
            ${
              headerIds(call).length > 0
                ? html`<span
                    class="lane-header"
                    .style=${`left:${place(call.asked)}`}
                    title="opened by the gateway"
                  ></span>`
                : nothing
            }
            ${pins > 0 ? html`<span class="lane-pin" .style=${`left:${place(end)}`}>⚑</span>` : nothing}
          </span>
        </li>`;
      })}
      ${results.map(({ name, started = 0, ended = 0, failed }) => {
        const words = `${name ?? "tool"}: run from ${toMs(started)} to ${toMs(ended)}${failed ? ", failed" : ""}`;
        return html`<li aria-label=${words}>
          <span class="lane-name">⚙</span>
          <span class="lane" title=${words}>
            <span
              class="lane-tool"
              .style=${`left:${place(started)};width:max(3px,${place(ended - started)})`}
            ></span>
          </span>
        </li>`;
      })}
    </ol>
    <p class="axis" aria-hidden="true"><span>0</span><span>${toMs(total)}</span></p>
  </div>`;
}

/** Text that the gateway appended to the model's output. */
function headerIds(call: RecordedCall): readonly number[] {
  return idsOf(call.appended).slice(call.written);
}

function callCard({ call, index, units }: ShownCall, turn: LoadedTurn): TemplateResult {
  const { record, tokens } = turn;
  const decision = call.decision === null ? undefined : record.decisions[call.decision];
  const isForced =
    decision !== undefined && !["continue", "constrain-turn"].includes(decision.type);
  const header = headerIds(call);
  const recoveries = record.recoveries.filter((each) => each.call === index);
  const pins = Map.groupBy(recoveries, ({ at }) => Math.max(0, at - 1));
  const late = recoveries.filter(
    ({ at }) => at - 1 > (units.at(-1)?.at ?? -1) || units.length === 0,
  );
  return html`<article class="call">
    <div class="card-head">
      <span class="badge call-badge" aria-hidden="true">${index + 1}</span>
      <strong
        >${decision === undefined ? "call" : (DECISIONS[decision.type] ?? decision.type)}</strong
      >
      ${isForced ? html`<code class="forced">${decision.type}</code>` : nothing}
      ${decision?.name ? html`<span>to <code>${decision.name}</code></span>` : nothing}
      ${decision?.names ? html`<span>one of <code>${decision.names.join(", ")}</code></span>` : nothing}
      <span class="quiet end">
        ${call.backend ?? call.engine ?? ""} ${toCount(call.promptTokens)} tokens
        in${finishOf(call, record)}
      </span>
    </div>
    ${
      decision?.problem !== undefined
        ? html`<p class="problem">Rejected: ${shown(decision.problem)}</p>`
        : nothing
    }
    ${
      call.constraint
        ? html`<details class="constraint">
            <summary>Constrained by the engine: ${call.constraint.type}</summary>
            <pre tabindex="0">${shown(call.constraint.text)}</pre>
          </details>`
        : nothing
    }
    ${call.attempts
      .filter(({ error }) => error !== undefined)
      .map(({ backend, error }) => html`<p class="problem">${backend} failed: ${error}</p>`)}
    <div class="written">
      ${
        header.length > 0
          ? html`<span class="by-gateway" title="appended by the gateway, not sampled"
              ><span class="who">gateway</span>${header.map((id) =>
                isSpecial(id) ? chip(tokenText(id, tokens), id) : html`${tokenText(id, tokens)}`,
              )}</span
            >`
          : nothing
      }
      ${
        units.length === 0
          ? html`<span class="quiet">${describeReads(call)}</span>`
          : tokenFlow(units, `call ${turn.row.number} ${index}`, pins)
      }
      ${late.map((each: RecordedRecovery) => pin(each))}
    </div>
    ${call.error ? html`<p class="problem">${call.error}</p>` : nothing}
  </article>`;
}

function describeReads({ reads }: RecordedCall): string {
  return reads.length === 0 ? "Nothing came." : `${toCount(reads.length)} reads, not kept.`;
}

function finishOf(call: RecordedCall, { decisions }: TurnRecord): string {
  const { finish, nativeReason, error, ended } = call;
  if (error !== undefined) return " · failed";
  if (ended === null) return "";
  const cut = decisions[(call.decision ?? -1) + 1]?.cut;
  if (finish === null) return ` · cut by the gateway${cut === undefined ? "" : `: ${cut}`}`;
  return ` · ${nativeReason ?? finish}`;
}
