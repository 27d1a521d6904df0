/** Fields of forms. */
import { html, type TemplateResult } from "lit-html";
import { live } from "lit-html/directives/live.js";

type Choice = readonly [value: string, label: string];

/** A small select with its name for screen readers only. */
export function select(
  name: string,
  choices: readonly Choice[],
  value: string,
  onChange: (value: string) => unknown,
): TemplateResult {
  return html`<select
    class="pill ${value === "" ? "" : "set"}"
    aria-label=${name}
    .value=${live(value)}
    @change=${({ target }: Event) => target instanceof HTMLSelectElement && onChange(target.value)}
  >
    ${choices.map(
      ([each, label]) => html`<option value=${each} ?selected=${each === value}>${label}</option>`,
    )}
  </select>`;
}

export function selectField(
  label: string,
  id: string,
  choices: readonly Choice[],
  value: string,
  onChange: (value: string) => unknown,
): TemplateResult {
  return html`<label class="field" for=${id}
    ><span>${label}</span>
    <select
      id=${id}
      .value=${live(value)}
      @change=${({ target }: Event) => target instanceof HTMLSelectElement && onChange(target.value)}
    >
      ${choices.map(
        ([each, text]) => html`<option value=${each} ?selected=${each === value}>${text}</option>`,
      )}
    </select>
  </label>`;
}

export function line(
  label: string,
  id: string,
  value: string,
  onChange: (value: string) => unknown,
  placeholder = "",
): TemplateResult {
  return html`<label class="field" for=${id}
    ><span>${label}</span>
    <input
      id=${id}
      .value=${live(value)}
      placeholder=${placeholder}
      autocomplete="off"
      @change=${({ target }: Event) => target instanceof HTMLInputElement && onChange(target.value)}
    />
  </label>`;
}

export function area(
  label: string,
  id: string,
  rows: number,
  value: string,
  onInput: (value: string) => unknown,
  placeholder = "",
): TemplateResult {
  return html`<label class="field wide" for=${id}
    ><span>${label}</span>
    <textarea
      id=${id}
      rows=${rows}
      spellcheck="false"
      placeholder=${placeholder}
      .value=${live(value)}
      @input=${({ target }: Event) => target instanceof HTMLTextAreaElement && onInput(target.value)}
    ></textarea>
  </label>`;
}
