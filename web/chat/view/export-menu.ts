/** Export and import of the conversation. */
import { html, type TemplateResult } from "lit-html";
import { icon } from "../../shared/icons.ts";
import { later } from "../late-parts.ts";

export function exportMenu(): TemplateResult {
  return html`<details class="menu">
    <summary>${icon("down")}Export, import</summary>
    <div class="menu-items">
      <button type="button" @click=${async () => (await later.load()).exportMarkdown()}>
        Export as Markdown
      </button>
      <button type="button" @click=${async () => (await later.load()).exportJson()}>
        Export as JSON
      </button>
      <label class="file-button"
        >Import …
        <input
          type="file"
          accept=".md,.json,application/json,text/markdown"
          @change=${(event: Event) => {
            if (!(event.target instanceof HTMLInputElement)) return;
            const [file] = event.target.files ?? [];
            if (file !== undefined) void later.load().then(({ importFile }) => importFile(file));
            event.target.value = "";
          }}
        />
      </label>
    </div>
  </details>`;
}
