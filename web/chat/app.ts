/** The chat's page. */
import { html, nothing, render, type TemplateResult } from "lit-html";
import { watchMenus } from "../shared/menus.ts";
import { onChange } from "../shared/redraw.ts";
import { focusOn } from "./actions.ts";
import { openAddressed, showAddress } from "./address.ts";
import { onKey } from "./keys.ts";
import { later, markdownParser } from "./late-parts.ts";
import { showPane, state, update } from "./state.ts";
import { watchStatus } from "./status.ts";
import { loadAll } from "./storage.ts";
import { storeRunning } from "./store-chat.ts";
import { composer } from "./view/composer.ts";
import { log } from "./view/log.ts";
import { pane } from "./view/pane.ts";
import { sidebar } from "./view/sidebar.ts";
import { top } from "./view/top.ts";

function page(): TemplateResult {
  const { keyProblem, isHelpOpen, isRefused, isListOpen, isPaneOpen, statusProblem, status } =
    state;
  const isDown = status !== undefined && !status.isReady;
  return html`${top()}
    <div class="columns ${isListOpen ? "list-open" : ""} ${isPaneOpen ? "pane-open" : ""}">
      ${sidebar()}
      <main class="stage">
        ${
          statusProblem !== "" || isDown
            ? html`<p class="banner" role="alert">
                ${statusProblem === "" ? downSentence(status?.failure) : statusProblem}
                ${
                  isRefused
                    ? html`<button
                        type="button"
                        @click=${() => update({ keyProblem: statusProblem })}
                      >
                        Enter the key
                      </button>`
                    : nothing
                }
              </p>`
            : nothing
        }
        ${log()} ${composer()}
      </main>
      ${isPaneOpen ? pane() : nothing}
    </div>
    ${
      isListOpen
        ? html`<button
            type="button"
            class="backdrop"
            aria-label="Close the list"
            @click=${() => update({ isListOpen: false })}
          ></button>`
        : isPaneOpen
          ? html`<div class="backdrop below-pane" @click=${() => showPane(undefined)}></div>`
          : nothing
    }
    ${keyProblem === undefined ? nothing : later.loaded?.keyDialog(keyProblem)}
    ${isHelpOpen && keyProblem === undefined ? later.loaded?.helpDialog() : nothing}`;
}

function downSentence(failure: string | undefined): string {
  if (failure === "not-found") {
    return "The inference server does not serve gpt-oss. Send a message to see why.";
  }
  const reason = failure === undefined ? "" : ` (${failure})`;
  return `The inference server does not answer yet${reason}. Messages get the gateway's error until it does.`;
}

const frame = document.querySelector("#app");
const root = frame instanceof HTMLElement ? frame : document.body;
let isDrawn = false;
let hadDialog = false;
/** Whether the view follows the end of the conversation: until the reader scrolls up. */
let isAtEnd = true;
let shown = "";

function draw(): void {
  // The frame in the HTML is replaced.
  if (!isDrawn) root.replaceChildren();
  const scroller = root.querySelector(".scroll");
  if (scroller !== null && isDrawn) {
    isAtEnd = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 80;
  }
  showAddress();
  const hadFocus = hasFocus();
  render(page(), root);
  const path = `${state.current.id} ${state.current.messages.length}`;
  const after = root.querySelector(".scroll");
  if (after !== null && (isAtEnd || path !== shown)) after.scrollTop = after.scrollHeight;
  shown = path;
  fitMessage();
  showDialog();
  // The focused element was removed, such as the button of an answer that another one replaces.
  if (hadFocus && !hasFocus()) focusOn(".scroll");
  isDrawn = true;
}

/** Whether a visible element has the focus. */
function hasFocus(): boolean {
  const { activeElement, body } = document;
  return (
    activeElement !== body && activeElement?.checkVisibility({ visibilityProperty: true }) === true
  );
}

/** Width of an average character. */
const CHARACTER_PX = 8;

/** Sizes the field by the lines of its text, for browsers without `field-sizing`. */
function fitMessage(): void {
  const field = root.querySelector("#message");
  if (!(field instanceof HTMLTextAreaElement)) return;
  const lines = Math.min(
    12,
    Math.max(
      1,
      field.value.split("\n").length,
      Math.ceil((field.value.length * CHARACTER_PX) / field.clientWidth),
    ),
  );
  if (field.rows !== lines) field.rows = lines;
}

/** Opens the dialog. The browser keeps the focus in it, and closes it with Escape. */
function showDialog(): void {
  const dialog = root.querySelector("dialog");
  if (dialog !== null && !dialog.open) dialog.showModal();
  if (dialog === null && hadDialog) focusOn("#message");
  hadDialog = dialog !== null;
}

onChange(draw);
document.addEventListener("keydown", onKey);
watchMenus();
update({});
watchStatus();
for (const part of [later, markdownParser]) {
  // Functions that need a part load it again.
  void part.load().catch(() => undefined);
}
void start();
addEventListener("hashchange", () => void openAddressed());
addEventListener("pagehide", storeRunning);
document.addEventListener("visibilitychange", storeRunning);

async function start(): Promise<void> {
  const { all, problem } = await loadAll();
  update({ conversations: all, ...(problem !== undefined && { notice: problem }) });
  void later.load().then(({ markCut }) => markCut());
  await openAddressed();
  // The focus stays where the reader has moved it, such as to the search.
  if (!hasFocus()) focusOn("#message");
}
