/** A call of a function: its arguments, and a field for its result. */
import { html, nothing, type TemplateResult } from "lit-html";
import { answerCall, forgetResult } from "../actions.ts";
import type { Answer, AnswerPart } from "../conversation.ts";
import { icon } from "../icons.ts";
import { state } from "../state.ts";

type Call = Extract<AnswerPart, { type: "call" }>;

export function callView(answer: Answer, call: Call): TemplateResult {
  const isOpen = call.result === undefined && answer.status !== "running";
  const isFixed = Object.hasOwn(state.current.results, call.name);
  return html`<section class="call" aria-label="Call of ${call.name}">
    <p class="call-head">${icon("tool")}<strong>${call.name}</strong></p>
    <pre class="arguments">${toPretty(call.arguments)}</pre>
    ${
      call.result === undefined
        ? nothing
        : html`<p class="result">
            <span class="quiet">result</span> <span class="value">${call.result}</span>
            ${
              isFixed
                ? html`<button
                    type="button"
                    class="ghost small text-deed"
                    @click=${() => forgetResult(call.name)}
                  >
                    always this: ask again
                  </button>`
                : nothing
            }
          </p>`
    }
    ${isOpen ? resultForm(answer, call) : nothing}
  </section>`;
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
        if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
        event.preventDefault();
        if (event.target instanceof HTMLTextAreaElement) event.target.form?.requestSubmit();
      }}
    ></textarea>
    <label class="tick"><input type="checkbox" name="always" /> always this</label>
    <button type="submit" class="primary small">Answer</button>
  </form>`;
}

/** Arguments may be broken: they are then shown as written. */
function toPretty(given: string): string {
  try {
    const text = JSON.stringify(JSON.parse(given));
    return text.length <= 72 ? text : JSON.stringify(JSON.parse(given), undefined, 2);
  } catch {
    return given;
  }
}
