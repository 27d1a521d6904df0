/** The bar at the top, with the state of the model. */
import { html, type TemplateResult } from "lit-html";
import { placesOf } from "../../../src/api/pages/places.ts";
import { iconButton } from "../../shared/icon-button.ts";
import { topBar } from "../../shared/top-bar.ts";
import { HAS_INSPECTOR } from "../gateway.ts";
import { modelOf, showPane, state, update } from "../state.ts";

export function top(): TemplateResult {
  const { isListOpen, isPaneOpen } = state;
  return topBar({
    current: "Chat",
    places: placesOf({ hasChat: true, hasInspector: HAS_INSPECTOR }),
    menu: iconButton("menu", "Chats", () => update({ isListOpen: !isListOpen }), {
      isOpen: isListOpen,
      style: "only-narrow",
    }),
    status: statusText(),
    tools: iconButton(
      "code",
      "Code, settings and events",
      () => showPane(isPaneOpen ? undefined : state.pane),
      { isOpen: isPaneOpen, style: "" },
    ),
    showHelp: () => update({ isHelpOpen: true }),
    redraw: () => update({}),
  });
}

function statusText(): TemplateResult {
  const { status, statusProblem, isRefused } = state;
  if (isRefused) return html`<span class="dot"></span>needs a key`;
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
