/** The list of conversations. */
import { html, nothing, type TemplateResult } from "lit-html";
import { live } from "lit-html/directives/live.js";
import { repeat } from "lit-html/directives/repeat.js";
import { erase, select, startNew } from "../actions.ts";
import type { Conversation } from "../conversation.ts";
import { icon } from "../../shared/icons.ts";
import { COMMAND } from "../keys.ts";
import { state, update } from "../state.ts";
import { iconButton } from "../../shared/icon-button.ts";
import { exportMenu } from "./export-menu.ts";

export function sidebar(): TemplateResult {
  const groups = Map.groupBy(found(), ({ updated }) => toDay(updated));
  return html`<nav class="sidebar" aria-label="Chats">
    <button type="button" class="new" @click=${() => void startNew()}>
      ${icon("plus")}<span>New chat</span>${shortcut(`${COMMAND} ⇧ O`)}
    </button>
    <label class="search">
      ${icon("search")}<input
        id="search"
        type="search"
        aria-label="Search chats"
        placeholder="Search"
        .value=${live(state.search)}
        @input=${(event: InputEvent) => {
          if (event.target instanceof HTMLInputElement) update({ search: event.target.value });
        }}
      />${shortcut(`${COMMAND} K`)}
    </label>
    <div class="chats">
      ${groups.size === 0 ? html`<p class="quiet none">${state.search === "" ? "No chats yet" : "No chat has these words"}</p>` : nothing}
      ${Array.from(
        groups,
        ([day, chats]) =>
          html`<h2>${day}</h2>
            <ul>
              ${repeat(chats, ({ id }) => id, chatItem)}
            </ul>`,
      )}
    </div>
    <footer class="sidebar-foot">
      ${exportMenu()}
      <p class="quiet">Kept on this device only</p>
    </footer>
  </nav>`;
}

/** For eyes only: the buttons and fields have their names. */
function shortcut(keys: string): TemplateResult {
  return html`<span class="shortcut" aria-hidden="true">${keys}</span>`;
}

function chatItem(chat: Conversation): TemplateResult {
  const isCurrent = chat.id === state.current.id;
  return html`<li class=${isCurrent ? "current" : ""}>
    <button
      type="button"
      class="chat"
      title=${chat.title}
      aria-current=${isCurrent ? "true" : nothing}
      @click=${() => void select(chat)}
    >
      ${chat.title}
    </button>
    ${iconButton("bin", `Delete ${chat.title}`, () => void erase(chat), { style: "small erase" })}
  </li>`;
}

/** All words must occur, in the title or in what was said. */
function found(): readonly Conversation[] {
  const words = state.search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return state.conversations;
  return state.conversations.filter(({ title, messages }) => {
    const text = `${title} ${messages.map((message) => toText(message)).join(" ")}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

function toText(message: Conversation["messages"][number]): string {
  if (message.role === "user") return message.text;
  return message.parts.map((part) => (part.type === "text" ? part.text : "")).join(" ");
}

const DAY_MS = 86_400_000;

function toDay(at: number): string {
  const today = new Date().setHours(0, 0, 0, 0);
  if (at >= today) return "Today";
  if (at >= today - DAY_MS) return "Yesterday";
  return at >= today - 7 * DAY_MS ? "This week" : "Earlier";
}
