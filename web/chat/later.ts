/** The parts of the page that typing does not need: they are loaded beside it. */
import type { TemplateResult } from "lit-html";
import type { Pane } from "./state.ts";
import { codePane } from "./view/code.ts";
import { eventsPane } from "./view/events.ts";
import { optionsPane } from "./view/options.ts";

export {
  exportJson,
  exportMarkdown,
  exportOpenChatML,
  fromRequest,
  importFile,
} from "./transfer.ts";
export { helpDialog, keyDialog } from "./view/dialogs.ts";

export const PANES: Readonly<Record<Pane, () => TemplateResult>> = {
  code: codePane,
  options: optionsPane,
  events: eventsPane,
};
