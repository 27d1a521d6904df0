/** The calls of a turn with their results: from the prompt, and from the model's output. */
import { html, nothing, type TemplateResult } from "lit-html";
import type { RecordedText, TurnRecord } from "../../src/telemetry/record/schema.ts";
import { shown, toCount, toMs } from "./format.ts";
import type { LoadedTurn } from "./types.ts";
import { inBlocks } from "./windowed.ts";

interface ToolCall {
  readonly name: string;
  readonly args: RecordedText;
  /** Result of the call. Undefined: the client sends it with a later request. */
  readonly result: RecordedText | undefined;
  readonly by: "client" | "gateway";
  /** The call is in the prompt: an earlier turn made it. */
  readonly isEarlier: boolean;
  /** The gateway has rejected the call, and the model has written another one. */
  readonly isRejected: boolean;
  readonly isFailed: boolean;
  readonly ms: number | undefined;
}

/** Maximum characters of arguments and of a result that are shown here: the bands have the whole text. */
const MAX_SHOWN = 300;

export function toolCallsBand({ record, row }: LoadedTurn): TemplateResult | typeof nothing {
  const calls = [...callsInPrompt(record), ...callsInOutput(record)];
  if (calls.length === 0) return nothing;
  const written = calls.filter(({ isEarlier }) => !isEarlier).length;
  return html`<section class="band" aria-labelledby="band-calls">
    <header class="band-head">
      <h2 id="band-calls">Tool calls</h2>
      <p>${toCount(written)} in this turn, ${toCount(calls.length - written)} before it</p>
    </header>
    <details ?open=${written > 0}>
      <summary>${toCount(calls.length)} ${calls.length === 1 ? "call" : "calls"}</summary>
      ${inBlocks(
        calls,
        50,
        `calls ${row.number} ${calls.length}`,
        (own) =>
          html`<ol class="calls">
            ${own.map((call) => callItem(call))}
          </ol>`,
      )}
    </details>
  </section>`;
}

function callItem({ name, args, by, isEarlier, isFailed, ms, ...call }: ToolCall): TemplateResult {
  return html`<li>
    <p>
      <strong><code>${name}</code></strong>
      <span class="source">${isEarlier ? "in the prompt" : "in this turn"}</span>
      ${
        call.isRejected
          ? nothing
          : html`<span class="quiet"
              >run by the ${by}${ms === undefined ? "" : `, ${toMs(ms)}`}</span
            >`
      }
      ${isFailed ? html`<span class="why">failed</span>` : nothing}
      ${call.isRejected ? html`<span class="why">rejected, not sent</span>` : nothing}
    </p>
    <p><code>${begin(args)}</code></p>
    ${call.isRejected ? nothing : html`<p class="quiet">${resultOf(call)}</p>`}
  </li>`;
}

function resultOf({ result }: Pick<ToolCall, "result">): TemplateResult {
  if (result === undefined) return html`The result comes with a later request.`;
  return html`→ <code>${begin(result)}</code>`;
}

function begin(text: RecordedText): string {
  const all = shown(text);
  return all.length > MAX_SHOWN ? `${all.slice(0, MAX_SHOWN)}…` : all;
}

/**
 * Calls in the prompt. A result follows its call, and has the recipient as its name. Results of parallel calls are in the order
 * of the calls.
 */
function callsInPrompt({ conversation, settings }: TurnRecord): ToolCall[] {
  const calls: ToolCall[] = [];
  const open: { readonly recipient: string; readonly at: number }[] = [];
  for (const { role, name, recipient, text } of conversation) {
    if (role === "assistant" && recipient !== undefined && recipient !== "assistant") {
      open.push({ recipient, at: calls.length });
      calls.push({
        name: withoutNamespace(recipient),
        args: text,
        result: undefined,
        by: isOfGateway(recipient, settings) ? "gateway" : "client",
        isEarlier: true,
        isRejected: false,
        isFailed: false,
        ms: undefined,
      });
    } else if (role === "tool") {
      const index = open.findIndex((each) => each.recipient === name);
      const [answered] = index < 0 ? [] : open.splice(index, 1);
      const call = answered && calls[answered.at];
      if (answered && call) calls[answered.at] = { ...call, result: text };
    } else if (role === "user") {
      open.length = 0;
    }
  }
  return calls;
}

function callsInOutput({ parts }: TurnRecord): ToolCall[] {
  const calls: ToolCall[] = [];
  for (const part of parts) {
    const { kind, name = "", text } = part;
    if (kind === "tool-call" || kind === "builtin-call") {
      calls.push({
        name: withoutNamespace(name),
        args: text,
        result: undefined,
        by: kind === "tool-call" ? "client" : "gateway",
        isEarlier: false,
        isRejected: !part.sent,
        isFailed: false,
        ms: undefined,
      });
    } else if (kind === "tool-result") {
      const at = calls.findLastIndex(({ by, result }) => by === "gateway" && result === undefined);
      const call = calls[at];
      if (call === undefined) continue;
      const { started, ended, failed = false } = part;
      const ms = started === undefined || ended === undefined ? undefined : ended - started;
      calls[at] = { ...call, result: text, isFailed: failed, ms };
    }
  }
  return calls;
}

function withoutNamespace(recipient: string): string {
  return recipient.replace(/^functions\./, "");
}

function isOfGateway(recipient: string, settings: TurnRecord["settings"]): boolean {
  const own = settings?.builtins ?? [];
  return (
    own.some(({ name }) => recipient === name || recipient.startsWith(`${name}.`)) ||
    (settings?.gatewayTools ?? []).some((name) => recipient.endsWith(name.replace(".", "__")))
  );
}
