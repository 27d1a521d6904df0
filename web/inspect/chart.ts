/** Tokens per second over the time of a turn, with the first token marked. */
import { html, nothing, svg, type TemplateResult } from "lit-html";
import { toMs } from "./format.ts";
import type { Unit } from "./units.ts";

const WIDTH = 600;
const HEIGHT = 64;
/** Minimum tokens per point. With fewer, the line would show only how tokens are divided among points. */
const PER_POINT = 6;
const MAX_POINTS = 60;

interface Charted {
  readonly call: { readonly firstToken: number | null };
  readonly units: readonly Unit[];
}

/** @param total of the time axis in ms */
export function chart(calls: readonly Charted[], total: number): TemplateResult | typeof nothing {
  const written = calls.reduce((sum, { units }) => sum + units.length, 0);
  if (written < 2) return nothing;
  const points = Math.max(4, Math.min(MAX_POINTS, Math.floor(written / PER_POINT)));
  const counts = Array.from({ length: points }, () => 0);
  for (const { units } of calls) {
    for (const { ms } of units) {
      const bucket = Math.min(points - 1, Math.floor((ms / total) * points));
      counts[bucket] = (counts[bucket] ?? 0) + 1;
    }
  }
  const seconds = total / 1000 / points;
  const most = Math.max(...counts);
  const x = (bucket: number) => (bucket / (points - 1)) * WIDTH;
  const y = (count: number) => HEIGHT - 4 - (count / most) * (HEIGHT - 16);
  const line = counts
    .map((count, bucket) => `${x(bucket).toFixed(1)},${y(count).toFixed(1)}`)
    .join(" ");
  const first = calls.find(({ call }) => call.firstToken !== null)?.call.firstToken ?? null;
  const peak = Math.round(most / seconds);
  const words = `Tokens per second over ${toMs(total)}: at most ${peak}; the first token after ${toMs(first)}.`;
  return html`<figure class="chart">
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label=${words}>
      ${svg`<polygon class="area" points=${`0,${HEIGHT} ${line} ${WIDTH},${HEIGHT}`}></polygon>`}
      ${
        first === null
          ? nothing
          : svg`<line class="first" x1=${(first / total) * WIDTH} x2=${(first / total) * WIDTH} y1="0" y2=${HEIGHT}></line>`
      }
    </svg>
    <figcaption>
      up to ${peak} tokens/s${first === null ? nothing : html` · first token after ${toMs(first)}`}
    </figcaption>
  </figure>`;
}
