/** The bar at the top: where one can go, and the state of the model. */
import { html, nothing, type TemplateResult } from "lit-html";
import { modelOf } from "../compose.ts";
import { HAS_INSPECTOR } from "../gateway.ts";
import { state, update } from "../state.ts";
import { getTheme, nextTheme, setTheme } from "../theme.ts";
import { iconButton } from "./buttons.ts";

export function top(): TemplateResult {
  const { isListOpen, isPaneOpen } = state;
  const theme = getTheme();
  return html`<header class="top">
    ${iconButton("menu", "Chats", () => update({ isListOpen: !isListOpen }), {
      isOpen: isListOpen,
      style: "only-narrow",
    })}
    <h1><span class="logo" aria-hidden="true"></span><span class="name">harmony-gateway</span></h1>
    <nav class="places" aria-label="Pages">
      <a href="./" aria-current="page">Chat</a>
      ${HAS_INSPECTOR ? html`<a href="inspect">Inspector</a>` : nothing}
      <a href="api">API</a>
    </nav>
    <p class="status">${statusText()}</p>
    <div class="tools">
      ${iconButton(
        theme,
        `Colours: ${theme}`,
        () => {
          setTheme(nextTheme());
          update({});
        },
        { style: "" },
      )}
      ${iconButton("help", "Keyboard", () => update({ isHelpOpen: true }), { style: "wide-only" })}
      ${iconButton("code", "Code, settings and events", () => update({ isPaneOpen: !isPaneOpen }), {
        isOpen: isPaneOpen,
        style: "",
      })}
    </div>
  </header>`;
}

function statusText(): TemplateResult {
  const { status, statusProblem, keyProblem } = state;
  if (keyProblem !== undefined) return html`<span class="dot"></span>needs a key`;
  if (statusProblem !== "") return html`<span class="dot bad"></span>no connection`;
  if (status === undefined) return html`<span class="dot"></span>connecting`;
  const model = modelOf(state.current);
  const length = status.models.find(({ id }) => id === model)?.contextLength;
  const facts = [
    model.replace(/^openai\//, ""),
    status.engine,
    length === undefined ? undefined : `${Math.round(length / 1000)}k`,
    status.running > 0 ? `${status.running} running` : undefined,
    status.isReady ? undefined : "not ready",
    status.queued > 0 ? `${status.queued} queued` : undefined,
  ].filter((fact) => fact !== undefined);
  return html`<span class="dot ${status.isReady ? "good" : "bad"}"></span
    ><span class="facts"
      >${facts.map((fact, index) => html`<span class="fact">${index === 0 ? "" : " · "}${fact}</span>`)}</span
    >`;
}
