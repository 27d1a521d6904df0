/** Calls of functions, with a field for the result, and calls that the gateway has run. */
import { html, nothing, type TemplateResult } from "lit-html";
import { answerCall, forgetResult } from "../actions.ts";
import type { Answer, AnswerPart, GatewayCall } from "../conversation.ts";
import { icon } from "../../shared/icons.ts";
import { isSendKey } from "../keys.ts";
import { python } from "../markdown-loader.ts";
import { state } from "../state.ts";

type Call = Extract<AnswerPart, { type: "call" }>;

/** Maximum characters of arguments that are shown beside the name. */
const MAX_BESIDE = 60;

export function callView(answer: Answer, call: Call): TemplateResult {
  const isOpen = call.result === undefined && answer.status !== "running";
  return html`<section class="call" aria-label="Call of ${call.name}">
    ${head(call)} ${call.result === undefined ? nothing : resultView(call, call.result)}
    ${isOpen ? resultForm(answer, call) : nothing}
  </section>`;
}

/** A call that the gateway has run. Its result is folded: the model's answer contains the important parts. */
export function gatewayCallView(call: GatewayCall): TemplateResult {
  return html`<section class="call" aria-label="Call of ${call.name}, run by the gateway">
    ${head(call, html`<span class="quiet">run by the gateway</span>`)}
    ${
      call.result
        ? html`<details>
            <summary class="quiet">Result</summary>
            <div class="value" tabindex="0">${call.result}</div>
          </details>`
        : nothing
    }
  </section>`;
}

function head(
  { name, arguments: written }: Call | GatewayCall,
  note: TemplateResult | typeof nothing = nothing,
): TemplateResult {
  const isPython = /^(?:python|code_(?:execution|interpreter))$/.test(name);
  const given = toPretty(written);
  const isShort = !isPython && given.length <= MAX_BESIDE && !given.includes("\n");
  return html`<p class="call-head">
      ${icon("tool")}<strong>${name}</strong>${isShort ? html`<code>${given}</code>` : nothing}
      ${note}
    </p>
    ${isPython ? python(written) : isShort ? nothing : html`<pre class="arguments" tabindex="0">${given}</pre>`}`;
}

function resultView({ name }: Call, result: string): TemplateResult {
  return html`<div class="result">
    <span class="quiet">Result</span>
    <div class="value" tabindex="0">${result}</div>
    ${
      Object.hasOwn(state.current.results, name)
        ? html`<label class="tick" title="Every call of ${name} gets this result">
            <input type="checkbox" checked @change=${() => forgetResult(name)} /> always this
          </label>`
        : nothing
    }
  </div>`;
}

function resultForm(answer: Answer, call: Call): TemplateResult {
  return html`<form
    class="result-form"
    @submit=${(event: Event) => {
      event.preventDefault();
      if (!(event.target instanceof HTMLFormElement)) return;
      const data = new FormData(event.target);
      const result = data.get("result");
      if (typeof result === "string") answerCall(answer, call.id, result, data.has("always"));
    }}
  >
    <label class="unseen" for="result-${call.id}">Result of ${call.name}</label>
    <textarea
      id="result-${call.id}"
      name="result"
      rows="2"
      placeholder="Result of ${call.name}"
      @keydown=${(event: KeyboardEvent) => {
        if (!isSendKey(event)) return;
        event.preventDefault();
        if (event.target instanceof HTMLTextAreaElement) event.target.form?.requestSubmit();
      }}
    ></textarea>
    <label class="tick"><input type="checkbox" name="always" /> always this</label>
    <button type="submit" class="primary small">Answer</button>
  </form>`;
}

/** Formats arguments. Malformed ones are shown unchanged. */
function toPretty(given: string): string {
  try {
    const line = JSON.stringify(JSON.parse(given));
    return line.length <= 72 ? line : JSON.stringify(JSON.parse(given), undefined, 2);
  } catch {
    return given;
  }
}
