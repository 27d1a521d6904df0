/** Pictures and PDFs of a message, by their names: the page loads no picture. */
import { html, nothing, type TemplateResult } from "lit-html";
import type { Attachment } from "../../../src/snippets/composed.ts";
import { icon } from "../../shared/icons.ts";
import { iconButton } from "../../shared/icon-button.ts";

/** @param onRemove absent: they have been sent */
export function attachments(
  files: readonly Attachment[],
  onRemove?: (file: Attachment) => void,
): TemplateResult {
  return html`<ul class="files" aria-label="Attached files">
    ${files.map(
      (file) =>
        html`<li>
          ${icon("file")}<span>${file.name}</span>
          <span class="quiet">${toSize(file.url)}</span>
          ${onRemove === undefined ? nothing : iconButton("close", `Remove ${file.name}`, () => onRemove(file))}
        </li>`,
    )}
  </ul>`;
}

/** Base64 has four characters for three bytes. */
function toSize({ length }: string): string {
  const kilobytes = Math.ceil((length * 3) / 4000);
  return kilobytes < 1000 ? `${kilobytes} KB` : `${(kilobytes / 1000).toFixed(1)} MB`;
}
