/** The conversation, or samples for an empty one. */
import { html, type TemplateResult } from "lit-html";
import { toPath } from "../conversation.ts";
import { later } from "../late-parts.ts";
import { state } from "../state.ts";
import { welcome } from "./welcome.ts";

export function log(): TemplateResult {
  const path = toPath(state.current);
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Conversation">
      <div class="log" role="log" aria-live="off">
        ${path.length === 0 ? welcome() : later.loaded?.messages(path)}
      </div>
    </div>
    <p class="unseen" role="status">${state.said}</p>`;
}
