/** The parts of the page that typing does not need, loaded in the background, in one piece. */
export { markCut } from "./cut-answers.ts";
export { attach, attached } from "./files.ts";
export { openRequest } from "./opened-request.ts";
export { answer, ask, canSend, proceed } from "./send.ts";
export { exportJson, exportMarkdown, exportOpenChatML, importFile } from "./transfer.ts";
export { helpDialog, keyDialog } from "./view/dialogs.ts";
export { messages } from "./view/messages.ts";
