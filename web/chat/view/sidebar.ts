/** The list of conversations. */
import { html, nothing, type TemplateResult } from "lit-html";
import { live } from "lit-html/directives/live.js";
import { repeat } from "lit-html/directives/repeat.js";
import { erase, focusOn, pin, rename, select, startNew } from "../actions.ts";
import type { Conversation } from "../conversation.ts";
import { icon } from "../../shared/icons.ts";
import { COMMAND } from "../keys.ts";
import { isRunning, state, update } from "../state.ts";
import { iconButton } from "../../shared/icon-button.ts";
import { exportMenu } from "./export-menu.ts";

export function sidebar(): TemplateResult {
  const chats = found().toSorted((a, b) => Number(isPinned(b)) - Number(isPinned(a)));
  const groups = Map.groupBy(chats, (chat) => (isPinned(chat) ? "Pinned" : toDay(chat.updated)));
  return html`<nav class="sidebar" aria-label="Chats">
    <button type="button" class="new" @click=${startNew}>
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
        ([name, group]) =>
          html`<h2>${name}</h2>
            <ul>
              ${repeat(group, ({ id }) => id, chatItem)}
            </ul>`,
      )}
    </div>
    <footer class="sidebar-foot">
      ${exportMenu()}
      <p class="quiet">Kept on this device only</p>
    </footer>
  </nav>`;
}

/** A visible hint: the buttons and fields have accessible names. */
function shortcut(keys: string): TemplateResult {
  return html`<span class="shortcut" aria-hidden="true">${keys}</span>`;
}

function isPinned(chat: Conversation): boolean {
  return chat.isPinned === true;
}

function chatItem(chat: Conversation): TemplateResult {
  const { id, title } = chat;
  const isCurrent = id === state.current.id;
  if (id === state.renaming) return html`<li class="current">${titleForm(chat)}</li>`;
  return html`<li class=${isCurrent ? "current" : ""}>
    ${isRunning(id) ? html`<span class="dot busy" role="img" aria-label="Being written"></span>` : nothing}
    <button
      type="button"
      class="chat"
      title=${title}
      aria-current=${isCurrent ? "true" : nothing}
      @click=${() => select(chat)}
    >
      ${title}
    </button>
    <span class="chat-deeds">
      ${iconButton("pin", `${isPinned(chat) ? "Unpin" : "Pin"} ${title}`, () => pin(chat))}
      ${iconButton("edit", `Rename ${title}`, () => {
        update({ renaming: id });
        requestAnimationFrame(() => requestAnimationFrame(() => focusOn("#title")));
      })}
      ${iconButton("bin", `Delete ${title}`, () => void erase(chat))}
    </span>
  </li>`;
}

function titleForm(chat: Conversation): TemplateResult {
  return html`<form
    class="title-form"
    @submit=${(event: Event) => {
      event.preventDefault();
      focusOn("#message");
    }}
    @focusout=${({ target }: Event) => {
      // Escape has ended the editing.
      if (target instanceof HTMLInputElement && state.renaming === chat.id)
        rename(chat, target.value);
    }}
  >
    <input id="title" aria-label="Title" maxlength="200" autocomplete="off" .value=${chat.title} />
  </form>`;
}

/** Conversations that contain all words, in the title or in a message. */
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
