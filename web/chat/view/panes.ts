/** The contents of the right side: code, settings and events. Loaded when the side is first opened. */
import type { TemplateResult } from "lit-html";
import type { Pane } from "../state.ts";
import { codePane } from "./code.ts";
import { eventsPane } from "./events.ts";
import { optionsPane } from "./options.ts";

export const PANES: Readonly<Record<Pane, () => TemplateResult>> = {
  code: codePane,
  options: optionsPane,
  events: eventsPane,
};
