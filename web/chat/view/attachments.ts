/** The files of a message, by name: the page loads no pictures. */
import { html, nothing, type TemplateResult } from "lit-html";
import type { MessageFile } from "../conversation.ts";
import { icon } from "../../shared/icons.ts";
import { iconButton } from "../../shared/icon-button.ts";

/** @param onRemove absent: the files have been sent */
export function attachments(
  files: readonly MessageFile[],
  onRemove?: (file: MessageFile) => void,
): TemplateResult {
  return html`<ul class="files" aria-label="Attached files">
    ${files.map(
      (file) =>
        html`<li>
          ${icon("file")}<span>${file.name}</span>
          <span class="quiet">${toSize(file)}</span>
          ${onRemove === undefined ? nothing : iconButton("close", `Remove ${file.name}`, () => onRemove(file))}
        </li>`,
    )}
  </ul>`;
}

/** Approximate characters of a token. */
const CHARACTERS_PER_TOKEN = 4;

function toSize(file: MessageFile): string {
  if ("text" in file) return `about ${Math.ceil(file.text.length / CHARACTERS_PER_TOKEN)} tokens`;
  // Base64 uses four characters for three bytes.
  const kilobytes = Math.ceil((file.url.length * 3) / 4000);
  return kilobytes < 1000 ? `${kilobytes} KB` : `${(kilobytes / 1000).toFixed(1)} MB`;
}
