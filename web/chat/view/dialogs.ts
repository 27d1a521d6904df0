/** The field for a key, and the list of keyboard commands. The page opens them as modal dialogs. */
import { html, nothing, type TemplateResult } from "lit-html";
import { keysDialog } from "../../shared/keys-dialog.ts";
import { setKey } from "../gateway.ts";
import { COMMAND } from "../keys.ts";
import { update } from "../state.ts";
import { refreshStatus } from "../status.ts";

/** @param reason the gateway's message. Empty: the reader changes the key. */
export function keyDialog(reason: string): TemplateResult {
  const leave = () =>
    update({ keyProblem: undefined, ...(reason !== "" && { statusProblem: reason }) });
  return html`<dialog aria-labelledby="key-title" @close=${leave}>
    <form
      @submit=${(event: Event) => {
        event.preventDefault();
        if (!(event.target instanceof HTMLFormElement)) return;
        const data = new FormData(event.target);
        const key = data.get("key");
        if (typeof key !== "string") return;
        setKey(key.trim(), data.has("remember"));
        update({ keyProblem: undefined });
        void refreshStatus();
      }}
    >
      <h2 id="key-title">${reason === "" ? "Another key" : "This gateway needs a key"}</h2>
      ${reason === "" ? nothing : html`<p class="quiet">${reason}</p>`}
      <label class="field wide" for="key"
        ><span>Key</span>
        <input id="key" name="key" type="password" autocomplete="off" required />
      </label>
      <label class="tick"><input type="checkbox" name="remember" /> remember on this device</label>
      <p class="row end">
        <button type="button" @click=${leave}>Not now</button>
        <button type="submit" class="primary">Use key</button>
      </p>
    </form>
  </dialog>`;
}

const KEYS: readonly (readonly [string, string])[] = [
  ["Enter", "send"],
  ["Shift Enter", "a new line"],
  ["Esc", "stop, or close"],
  ["↑", "edit the last message, in an empty field"],
  [`${COMMAND} K`, "search chats"],
  [`${COMMAND} Shift O`, "a new chat"],
  ["?", "this list"],
];

export function helpDialog(): TemplateResult {
  return keysDialog(KEYS, () => update({ isHelpOpen: false }));
}
