/** The messages of the conversation. */
import { html, nothing, type TemplateResult } from "lit-html";
import { repeat } from "lit-html/directives/repeat.js";
import { edit } from "../actions.ts";
import { type Question, toPath } from "../conversation.ts";
import { state } from "../state.ts";
import { answerView } from "./answer.ts";
import { attachments } from "./attachments.ts";
import { iconButton } from "../../shared/icon-button.ts";
import { copyButton } from "./copy-button.ts";
import { switcher } from "./switcher.ts";
import { welcome } from "./welcome.ts";

export function log(): TemplateResult {
  const path = toPath(state.current);
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Conversation">
      <div class="log" role="log" aria-live="off">
        ${path.length === 0 ? welcome() : nothing}
        ${repeat(
          path,
          ({ id }) => id,
          (message) => (message.role === "user" ? questionView(message) : answerView(message)),
        )}
      </div>
    </div>
    <p class="unseen" role="status">${state.said}</p>`;
}

function questionView(message: Question): TemplateResult {
  return html`<article class="question ${state.editing === message.id ? "editing" : ""}">
    <h2 class="unseen">You</h2>
    ${message.files ? attachments(message.files) : nothing}
    ${message.text === "" ? nothing : html`<p class="bubble" dir="auto">${message.text}</p>`}
    <div class="actions">
      ${switcher(message)} ${iconButton("edit", "Edit", () => edit(message))}
      ${copyButton("Copy question", () => message.text)}
    </div>
  </article>`;
}
