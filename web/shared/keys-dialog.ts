/**
 * The list of keyboard commands, as a modal dialog once `showModal` has been called: the browser keeps the focus in it, and
 * closes it with Escape.
 */
import { html, type TemplateResult } from "lit-html";

/** @param keys keys with their effects; keys of a combination are separated by a space */
export function keysDialog(
  keys: readonly (readonly [keys: string, does: string])[],
  close: () => void,
): TemplateResult {
  return html`<dialog aria-labelledby="help-title" @close=${close}>
    <h2 id="help-title">Keyboard</h2>
    <dl class="keys">
      ${keys.map(
        ([pressed, does]) =>
          html`<dt>${pressed.split(" ").map((key) => html`<kbd>${key}</kbd>`)}</dt>
            <dd>${does}</dd>`,
      )}
    </dl>
    <button type="button" class="primary end" @click=${close}>Close</button>
  </dialog>`;
}
