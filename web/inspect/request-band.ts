/** The request as the client sent it, and the parts of it that could not be used. */
import { html, nothing, type TemplateResult } from "lit-html";
import type { TurnRecord } from "../../src/telemetry/record/schema.ts";
import { shown } from "./format.ts";
import { type BodyPiece, type Thought, toMarkedBody, type Unused } from "./request-body.ts";
import type { LoadedTurn } from "./types.ts";

export function requestBand({ record }: LoadedTurn): TemplateResult {
  const { request, reasoningFrom } = record;
  const { pieces, missing } = readRequest(record);
  const { thoughts, kinds } = missing;
  const isMarked = pieces.some(({ why }) => why !== undefined);
  return html`<section class="band" aria-labelledby="band-came">
    <header class="band-head">
      <h2 id="band-came">Request</h2>
      ${request === null ? nothing : html`<p><code>${request.method} ${request.path}</code></p>`}
      ${reasoningFrom === null ? nothing : reasoningNote(reasoningFrom)}
    </header>
    ${
      thoughts.length + kinds.length > 0
        ? html`<ul class="unused-list" aria-label="Not used">
            ${kinds.map(({ kind, why }) => html`<li><s>${kind}</s> <span>${why}</span></li>`)}
            ${thoughts.map(({ place, why }) => html`<li><s>${place}</s> <span>${why}</span></li>`)}
          </ul>`
        : nothing
    }
    ${shownTools(record)}
    ${
      request === null
        ? html`<p class="quiet">The gateway made this turn itself.</p>`
        : html`<details ?open=${isMarked}>
            <summary>
              Request as sent${isMarked ? ", what was left out is struck through" : nothing}
            </summary>
            <dl class="headers">
              ${Object.entries(request.headers).map(
                ([name, value]) =>
                  html`<dt>${name}</dt>
                    <dd>${value}</dd>`,
              )}
            </dl>
            <pre class="json" tabindex="0">${pieces.map((piece) => bodyPiece(piece))}</pre>
          </details>`
    }
  </section>`;
}

/** The client's tools that were sent to the model under other names. */
function shownTools({ settings }: TurnRecord): TemplateResult | typeof nothing {
  const pairs = [...(settings?.shownTools ?? []), ...(settings?.mappedTools ?? [])];
  if (pairs.length === 0) return nothing;
  return html`<ul class="quiet" aria-label="Shown to the model under other names">
    ${pairs.map(({ name, as }) => html`<li><code>${name}</code> shown as <code>${as}</code></li>`)}
  </ul>`;
}

/** Omitted text is also marked in words: a screen reader does not announce grey or struck text. */
function bodyPiece({ text, why }: BodyPiece): TemplateResult {
  if (why === undefined) return html`${text}`;
  return html`<span class="left-out"><del>${text}</del> <span class="why">${why}</span></span>`;
}

interface PlacedThought extends Thought {
  readonly place: string;
}

interface Found extends Unused {
  readonly thoughts: readonly PlacedThought[];
}

function findUnused({ conversation, answer }: TurnRecord): Found {
  const headers = answer?.headers ?? {};
  const kinds = SKIPPED_HEADERS.flatMap((name) => headers[name]?.split(", ") ?? []);
  return {
    thoughts: conversation.flatMap(({ channel, dropped, text }, index) =>
      channel === "analysis" && typeof text === "string"
        ? { text, why: dropped && whyDropped(dropped), place: `reasoning in message ${index + 1}` }
        : [],
    ),
    kinds: [...new Set(kinds)].map((kind) => ({ kind, why: "left out: cannot be served here" })),
  };
}

function whyDropped({ finishedBy }: { readonly finishedBy: number }): string {
  return `left out: the answer in message ${finishedBy + 1} finished its turn`;
}

const SKIPPED_HEADERS = ["x-harmony-skipped", "x-harmony-skipped-tools", "x-harmony-skipped-items"];

function reasoningNote(from: string): TemplateResult {
  const words: Record<string, string> = {
    sent: "reasoning sent back by the client",
    sealed: "reasoning carried encrypted by the client",
    stored: "reasoning found in the store",
    lost: "reasoning lost: the client did not send it back, and it is not stored",
  };
  return html`<p class="note ${from === "lost" ? "bad" : ""}">${words[from] ?? from}</p>`;
}

/** Maximum characters of a body that are shown. */
const MAX_SHOWN = 200_000;

interface ShownBody {
  readonly pieces: readonly BodyPiece[];
  readonly missing: Found;
}

/** Parsed request bodies, because each change draws the whole page again. */
const known = new WeakMap<TurnRecord, ShownBody>();

function readRequest(record: TurnRecord): ShownBody {
  const body = known.get(record) ?? read(shown(record.request?.body), findUnused(record));
  known.set(record, body);
  return body;
}

function read(body: string, unused: Found): ShownBody {
  try {
    const { pieces, missing } = toMarkedBody(body, unused);
    const left = new Set<object>(missing.thoughts);
    const thoughts = unused.thoughts.filter((each) => left.has(each));
    return { pieces: cut(pieces), missing: { kinds: missing.kinds, thoughts } };
  } catch {
    const thoughts = unused.thoughts.filter(({ why }) => why !== undefined);
    return { pieces: cut([{ text: body, why: undefined }]), missing: { ...unused, thoughts } };
  }
}

function cut(pieces: readonly BodyPiece[]): BodyPiece[] {
  const kept: BodyPiece[] = [];
  let left = MAX_SHOWN;
  for (const piece of pieces) {
    if (left <= 0) return [...kept, { text: "\n…", why: undefined }];
    kept.push({ ...piece, text: piece.text.slice(0, left) });
    left -= piece.text.length;
  }
  return left < 0 ? [...kept, { text: "\n…", why: undefined }] : kept;
}
