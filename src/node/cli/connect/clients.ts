/** The clients by name. To add one, add its file in `clients/`, its entry here and its section in `docs/clients.md`. */
import type { ConnectedClient } from "./client-settings.ts";
import { claudeCode } from "./clients/claude-code.ts";
import { codex } from "./clients/codex.ts";
import { continueClient } from "./clients/continue.ts";
import { openWebUi } from "./clients/open-webui.ts";
import { opencode } from "./clients/opencode.ts";
import { qwenCode } from "./clients/qwen-code.ts";
import { anthropic, python, typescript } from "./clients/sdks.ts";
import { vscode } from "./clients/vscode.ts";

export const CLIENTS: Readonly<Record<string, ConnectedClient>> = {
  codex,
  "claude-code": claudeCode,
  opencode,
  continue: continueClient,
  "qwen-code": qwenCode,
  vscode,
  "open-webui": openWebUi,
  python,
  typescript,
  anthropic,
};
