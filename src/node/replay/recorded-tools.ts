/** Stands in for the tools that the gateway ran in a recorded turn: each call gets its recorded result. */
import type { BuiltinTool } from "../../tools/builtin-tool.ts";
import type { TurnRecord } from "../../telemetry/record/schema.ts";
import type { TurnBuiltins } from "../../turn/turn.ts";
import { toFailedCall } from "../../turn/builtin-runs.ts";
import { contentText } from "./read-record.ts";

/** Undefined: no such tools were offered. `current`: the tools that the request is converted to now. */
export function toRecordedTools(
  record: TurnRecord,
  current: TurnBuiltins | undefined,
): TurnBuiltins | undefined {
  const { settings, parts } = record;
  if (settings === null) return undefined;
  const results = parts.filter(({ kind }) => kind === "tool-result");
  let next = 0;
  const open: BuiltinTool["open"] = () =>
    Promise.resolve({
      run(call) {
        const result = results[next++];
        const text =
          result === undefined ? "The record has no further result." : contentText(result.text);
        const failed = result?.failed ?? true;
        return Promise.resolve({ text, failed, shown: toFailedCall(call, text) });
      },
      save: () => undefined,
      close: () => Promise.resolve(),
    });
  const tools = settings.builtins.map(({ name, functions, rawBody }): BuiltinTool => ({
    name,
    namespace: {
      key: name,
      name,
      functions: functions.map((each) => ({ name: each, description: "" })),
    },
    rawBody,
    accepts: (recipient) => recipient === name || recipient.startsWith(`${name}.`),
    open,
  }));
  const { gatewayTools } = settings;
  if (gatewayTools.length > 0) {
    tools.push({
      name: "functions",
      functions: gatewayTools.map((name) => ({
        name,
        recipient: recipientOf(name),
        shown: { name, description: "" },
      })),
      rawBody: false,
      accepts: (recipient) =>
        gatewayTools.some((name) => [recipientOf(name), flatRecipientOf(name)].includes(recipient)),
      open,
    });
  }
  if (tools.length === 0) return undefined;
  const { forced } = current ?? {};
  return {
    tools,
    maxCalls: results.length + 1,
    citations: current?.citations ?? "link",
    ...(forced !== undefined && { forced }),
  };
}

/** `label.tool`, or `functions.tool` without a label. */
function recipientOf(name: string): string {
  return name.includes(".") ? name : flatRecipientOf(name);
}

/** `functions.label__tool`. */
function flatRecipientOf(name: string): string {
  return `functions.${name.replace(".", "__")}`;
}
