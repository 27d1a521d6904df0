/** An answer: reasoning, text and calls in order, and the actions on it. */
import { html, nothing, type TemplateResult } from "lit-html";
import { ALL_APIS } from "../../../src/snippets/snippet.ts";
import { proceedWith, regenerate } from "../actions.ts";
import { APIS } from "../apis.ts";
import {
  type Answer,
  type AnswerPart,
  canContinue,
  isUnfinished,
  toPath,
} from "../conversation.ts";
import { HAS_INSPECTOR } from "../gateway.ts";
import { icon } from "../../shared/icons.ts";
import { markdown } from "../markdown-loader.ts";
import { isRunning, state } from "../state.ts";
import { iconButton } from "../../shared/icon-button.ts";
import { copyButton } from "./copy-button.ts";
import { callView, gatewayCallView } from "./call.ts";
import { switcher } from "./switcher.ts";

export function answerView(answer: Answer): TemplateResult {
  const { parts, status } = answer;
  return html`<article class="answer ${status}" aria-busy=${status === "running"}>
    <h2 class="unseen">${answer.model}</h2>
    ${parts.map((part, index) => partView(answer, part, index))}
    ${status === "running" && isWaiting(parts) ? html`<p class="waiting" aria-hidden="true"><i></i><i></i><i></i></p>` : nothing}
    ${status === "failed" ? html`<p class="problem boxed" role="alert">${icon("problem")}<span>${withCode(answer.problem ?? "")}</span></p>` : nothing}
    ${isRunning() ? nothing : continuing(answer)} ${status === "running" ? nothing : foot(answer)}
  </article>`;
}

function isWaiting(parts: readonly AnswerPart[]): boolean {
  const last = parts.at(-1);
  return last === undefined || !("text" in last) || last.text === "";
}

function partView(
  answer: Answer,
  part: AnswerPart,
  index: number,
): TemplateResult | typeof nothing {
  const isOpen = answer.status === "running" && index === answer.parts.length - 1;
  switch (part.type) {
    case "reasoning":
      return reasoningView(part, {
        isWriting: isOpen,
        place: `${answer.id} ${index}`,
        tokens: thoughtTokens(answer, index),
      });
    case "text":
      return part.text === ""
        ? nothing
        : html`<div class="text" dir="auto">${markdown(part, isOpen)}</div>`;
    case "call":
      return callView(answer, part);
    case "ran":
      return gatewayCallView(part);
    default:
      return part satisfies never;
  }
}

/** Thoughts that the reader has opened or closed, by position. */
const chosen = new Map<string, boolean>();

/** Reasoning tokens of the last request, if all of them belong to this thought. */
function thoughtTokens({ parts, usage }: Answer, index: number): number {
  const begin = parts.findLastIndex(({ type }, at) => type === "call" && at < parts.length - 1);
  const thoughts = parts.flatMap(({ type }, at) => (type === "reasoning" && at > begin ? at : []));
  return thoughts.length === 1 && thoughts[0] === index ? (usage?.reasoning ?? 0) : 0;
}

interface Thought {
  readonly isWriting: boolean;
  readonly place: string;
  readonly tokens: number;
}

/** A thought: open while it is written, folded when the answer begins, unless the reader has changed it. */
function reasoningView(
  part: Extract<AnswerPart, { type: "reasoning" }>,
  { isWriting, place, tokens }: Thought,
): TemplateResult | typeof nothing {
  if (part.text === "") return part.sealed === undefined ? nothing : sealedNote(part.sealed.value);
  const seconds = ((part.ended ?? 0) - (part.began ?? 0)) / 1000;
  const time = seconds < 0.1 ? "Thought" : `Thought for ${seconds.toFixed(1)} s`;
  const label = isWriting ? "Thinking …" : tokens > 0 ? `${time} · ${count(tokens)} tokens` : time;
  const isOpen = chosen.get(place) ?? isWriting;
  return html`<details class="reasoning ${isWriting ? "writing" : ""}" ?open=${isOpen}>
    <summary
      @click=${({ currentTarget }: Event) => {
        // The browser opens the thought. Drawing the page at once would scroll it to the end of the conversation.
        const details = currentTarget instanceof Element ? currentTarget.parentElement : null;
        if (details instanceof HTMLDetailsElement) chosen.set(place, !details.open);
      }}
    >
      ${label}
    </summary>
    <div class="thought text" dir="auto">${markdown(part, isWriting)}</div>
  </details>`;
}

function sealedNote(value: object): TemplateResult {
  const kilobytes = (JSON.stringify(value).length / 1000).toFixed(1);
  return html`<p class="quiet sealed">Reasoning: encrypted, ${kilobytes} KB, sent back unread</p>`;
}

/** A sentence of the gateway, with names of fields between backticks as code. */
function withCode(sentence: string): readonly unknown[] {
  return sentence
    .split(/`([^`]*)`/)
    .map((part, index) => (index % 2 === 0 ? part : html`<code>${part}</code>`));
}

/** The button that continues an answer: after many requests in a row, a failure, a stop, or a closed page. */
function continuing(answer: Answer): TemplateResult | typeof nothing {
  const hasResults = canContinue(answer);
  const isLast = toPath(state.current).at(-1)?.id === answer.id;
  const isCut = answer.status === "cut";
  const isOffered = hasResults || (isLast && isUnfinished(answer));
  if (!isOffered && !isCut) return nothing;
  return html`<p class="row">
    ${isOffered ? html`<button type="button" class="primary small" @click=${() => proceedWith(answer)}>Continue</button>` : nothing}
    <span class="quiet"
      >${
        hasResults
          ? "All calls have results. The model has not read them yet."
          : isCut
            ? "The page was closed before the answer was complete."
            : ""
      }</span
    >
  </p>`;
}

function foot(answer: Answer): TemplateResult {
  const toText = () => answer.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  const others = ALL_APIS.filter((name) => name !== answer.api);
  return html`<div class="actions">
      ${copyButton("Copy answer", toText)}
      ${iconButton("again", "Regenerate", () => regenerate(answer, answer.api))} ${switcher(answer)}
      ${(state.isPaneOpen ? others : []).map(
        (name) =>
          html`<button
            type="button"
            class="ghost small text-deed"
            title="Send again as ${APIS[name].label}"
            aria-label="Send again as ${APIS[name].label}"
            @click=${() => regenerate(answer, name)}
          >
            ${icon("swap")}as ${APIS[name].label}
          </button>`,
      )}
      ${
        HAS_INSPECTOR && answer.requestId !== undefined
          ? html`<a
              class="ghost small text-deed"
              href="inspect?turn=${encodeURIComponent(answer.requestId)}"
              >${icon("look")}inspect</a
            >`
          : nothing
      }
    </div>
    <p class="figures">${figures(answer).map((fact) => html`<span>${fact}</span>`)}</p>`;
}

function figures({ api, usage, firstMs, totalMs, finish, status }: Answer): string[] {
  const { input, output } = usage ?? {};
  const writing = totalMs !== undefined && firstMs !== undefined ? totalMs - firstMs : 0;
  const facts = [
    state.isPaneOpen ? APIS[api].label : "",
    input === undefined || output === undefined ? "" : `${count(input)} → ${count(output)} tokens`,
    usage?.cached ? `${count(usage.cached)} cached` : "",
    firstMs === undefined ? "" : `first ${count(Math.round(firstMs))} ms`,
    output && writing > 0 ? `${count(Math.round((output / writing) * 1000))} tokens/s` : "",
    status === "done" ? (finish ?? "") : status,
  ];
  return facts.filter((fact) => fact !== "");
}

function count(number: number): string {
  return String(number).replaceAll(/\B(?=(?:\d{3})+$)/g, ",");
}
