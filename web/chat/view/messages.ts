/** The messages of the conversation. */
import { html, nothing, type TemplateResult } from "lit-html";
import { repeat } from "lit-html/directives/repeat.js";
import { edit } from "../actions.ts";
import type { Message, Question } from "../conversation.ts";
import { state } from "../state.ts";
import { answerView } from "./answer.ts";
import { attachments } from "./attachments.ts";
import { iconButton } from "../../shared/icon-button.ts";
import { copyButton } from "./copy-button.ts";
import { switcher } from "./switcher.ts";

export function messages(path: readonly Message[]) {
  return repeat(
    path,
    ({ id }) => id,
    (message) => (message.role === "user" ? questionView(message) : answerView(message)),
  );
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
