/** The form for a message and its attachments. */
import { html, nothing, type TemplateResult } from "lit-html";
import { live } from "lit-html/directives/live.js";
import { cancelEdit, editLast, focusOn, restore, send } from "../actions.ts";
import type { Conversation } from "../conversation.ts";
import { later } from "../late-parts.ts";
import { icon } from "../../shared/icons.ts";
import { isSendKey } from "../keys.ts";
import { change, isRunning, modelOf, showPane, state, update } from "../state.ts";
import { iconButton } from "../../shared/icon-button.ts";
import { select } from "./fields.ts";

export function composer(): TemplateResult {
  const { draft, editing, notice, erased } = state;
  return html`<div class="composer-frame">
    ${notice === "" ? nothing : noticeView(notice)}
    ${erased === undefined ? nothing : erasedView(erased)}
    <form
      class="composer"
      @submit=${(event: Event) => {
        event.preventDefault();
        send();
      }}
      @dragover=${(event: DragEvent) => event.preventDefault()}
      @drop=${(event: DragEvent) => {
        event.preventDefault();
        take(event.dataTransfer?.files);
      }}
    >
      ${
        editing === undefined
          ? nothing
          : html`<p class="editing-note">
              Editing an earlier message
              <button type="button" class="ghost small text-deed" @click=${cancelEdit}>
                Cancel
              </button>
            </p>`
      }
      ${state.files.length === 0 ? nothing : later.loaded?.attached()}
      <label class="unseen" for="message">Message</label>
      <textarea
        id="message"
        dir="auto"
        rows="1"
        placeholder="Message"
        .value=${live(draft)}
        @input=${(event: InputEvent) => {
          if (event.target instanceof HTMLTextAreaElement) update({ draft: event.target.value });
        }}
        @keydown=${onKey}
        @paste=${(event: ClipboardEvent) => {
          const files = event.clipboardData?.files;
          if (files === undefined || files.length === 0) return;
          event.preventDefault();
          take(files);
        }}
      ></textarea>
      <div class="bar">
        ${attachButton()}
        <div class="options">${optionButtons()}</div>
        <button
          type="submit"
          class="send ${!isRunning() ? "" : "stop"}"
          aria-label=${!isRunning() ? "Send" : "Stop"}
        >
          ${icon(!isRunning() ? "send" : "stop")}
        </button>
      </div>
    </form>
  </div>`;
}

function noticeView(notice: string): TemplateResult {
  return html`<p class="notice" role="alert">
    <span>${notice}</span> ${iconButton("close", "Dismiss", () => update({ notice: "" }))}
  </p>`;
}

function erasedView(erased: Conversation): TemplateResult {
  return html`<p class="notice" role="status">
    <span>“${erased.title}” was deleted.</span>
    <button type="button" class="ghost small text-deed" @click=${() => void restore(erased)}>
      Undo
    </button>
  </p>`;
}

function attachButton(): TemplateResult {
  return html`<label class="pill attach">
    ${icon("clip")}<span class="unseen">Attach files</span>
    <input
      type="file"
      multiple
      @change=${(event: Event) => {
        if (!(event.target instanceof HTMLInputElement)) return;
        take(event.target.files ?? undefined);
        event.target.value = "";
      }}
    />
  </label>`;
}

function optionButtons(): TemplateResult {
  const { current, status } = state;
  const models = status?.models ?? [];
  return html`
    ${
      models.length > 1
        ? select(
            "Model",
            models.map(({ id }) => [id, id.replace(/^openai\//, "")]),
            modelOf(current),
            (model) => change({ model }),
          )
        : nothing
    }
    ${select(
      "Reasoning effort",
      [
        ["", "effort: default"],
        ["low", "effort: low"],
        ["medium", "effort: medium"],
        ["high", "effort: high"],
      ],
      current.options.effort ?? "",
      (effort) => {
        const { effort: _, ...options } = current.options;
        change({ options: effort === "" ? options : { ...options, effort } });
      },
    )}
    ${settingsButton(current)}
  `;
}

/** The button for other settings: system prompt, tools, format, API. */
function settingsButton(current: Conversation): TemplateResult {
  const { system, tools, format, gatewayTools = [] } = current;
  const { effort: _, ...options } = current.options;
  const count =
    [system, tools, format].filter((field) => field.trim() !== "").length +
    gatewayTools.length +
    Object.keys(options).length;
  const isOpen = state.isPaneOpen && state.pane === "options";
  return html`<button
    type="button"
    class="pill ${count > 0 ? "set" : ""}"
    aria-expanded=${isOpen}
    @click=${() => {
      showPane(isOpen ? undefined : "options");
      requestAnimationFrame(() => requestAnimationFrame(() => focusOn("#system")));
    }}
  >
    Settings<span class="unseen"> of this chat</span>${count > 0 ? html` <b>${count}</b>` : nothing}
  </button>`;
}

/** Adds files. The list is copied first, because it is emptied with its field. */
function take(files: Iterable<File> = []): void {
  const taken = [...files];
  void later.load().then(({ attach }) => attach(taken));
}

function onKey(event: KeyboardEvent): void {
  if (event.isComposing) return;
  if (isSendKey(event)) {
    event.preventDefault();
    if (!isRunning()) send();
  }
  if (event.key === "ArrowUp" && state.draft === "") {
    event.preventDefault();
    editLast();
  }
}
