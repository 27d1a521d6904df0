/**
 * Replaces the tools that the gateway ran in a recorded turn: each call gets its recorded result, and each citation its recorded
 * source.
 */
import * as z from "zod";
import {
  type GatewayCall,
  type GatewayToolResult,
  type GatewayTool,
  type CitedLines,
  type CitedSource,
  executionError,
  type FailureReason,
  type ShownCall,
  type ToolOrigin,
} from "../../tools/gateway-tool.ts";
import type { Toolbox, TrainedToolbox } from "../../tools/toolbox.ts";
import type { RecordedPart, TurnRecord } from "../../telemetry/record/schema.ts";
import type { TurnGatewayTools } from "../../turn/turn.ts";
import { countBrowserCall, describeBrowserCall } from "../../tools/browser/call.ts";
import { describeCode } from "../../tools/python/tool.ts";
import { contentText } from "./read-record.ts";
import { toRecordedServers } from "./recorded-servers.ts";

/** Undefined: the turn had no such tools. `current`: the tools of the request as it is converted now. */
export function toRecordedTools(
  record: TurnRecord,
  current: TurnGatewayTools | undefined,
): TurnGatewayTools | undefined {
  const { settings, parts } = record;
  if (settings === null) return undefined;
  const results = parts.filter(({ kind }) => kind === "tool-result");
  let next = 0;
  const openWith =
    (describe: GatewayTool["describe"]): GatewayTool["open"] =>
    () =>
      Promise.resolve({
        run(call) {
          const result = results[next++];
          return Promise.resolve(toResult(call, result, describe));
        },
        cite: (cursor, lines) => findCited(record, cursor, lines),
        save: () => undefined,
        close: () => Promise.resolve(),
      });
  const tools = settings.builtins.map(({ name, functions, rawBody }): GatewayTool => ({
    name,
    namespace: {
      key: name,
      name,
      functions: functions.map((each) => ({ name: each, description: "" })),
    },
    rawBody,
    accepts: (recipient) => recipient === name || recipient.startsWith(`${name}.`),
    ...(name === "browser"
      ? {
          describe: describeBrowserCall,
          countsAs: countBrowserCall,
          open: openWith(describeBrowserCall),
        }
      : { describe: describeCode, open: openWith(describeCode) }),
  }));
  const { gatewayTools } = settings;
  if (gatewayTools.length > 0) {
    const describe: GatewayTool["describe"] = ({ recipient, body }, text) => ({
      type: "mcp",
      ...toOrigin(recipient, results),
      arguments: body,
      error: executionError(text),
    });
    tools.push({
      name: "functions",
      functions: gatewayTools.map((name) => ({
        name,
        recipient: recipientOf(name),
        shown: { name, description: "" },
      })),
      rawBody: false,
      origin: (recipient) => toOrigin(recipient, results),
      needsApproval: (recipient) =>
        current?.tools.some((tool) => tool.accepts(recipient) && tool.needsApproval?.(recipient)) ??
        false,
      accepts: (recipient) =>
        gatewayTools.some((name) => [recipientOf(name), flatRecipientOf(name)].includes(recipient)),
      describe,
      open: openWith(describe),
    });
  }
  if (tools.length === 0) return undefined;
  const { forced } = current ?? {};
  return {
    tools,
    maxCalls: settings.toolRuns?.maxCalls ?? results.length + 1,
    citations: current?.citations ?? settings.toolRuns?.citations ?? "link",
    ...(forced !== undefined && { forced }),
  };
}

/** The recorded tools that requests select by type: browser and python. */
export function toRecordedToolbox(record: TurnRecord): Toolbox {
  const { tools = [] } = toRecordedTools(record, undefined) ?? {};
  const browser = tools.find(({ name }) => name === "browser");
  const python = tools.find(({ name }) => name === "python");
  const trained: TrainedToolbox = {
    browser: browser && (() => browser),
    python: python && (() => python),
  };
  return { ...trained, mcp: toRecordedServers(record) };
}

function toResult(
  call: GatewayCall,
  result: RecordedPart | undefined,
  describe: GatewayTool["describe"],
): GatewayToolResult {
  if (result === undefined) {
    const text = "The record has no further result.";
    return { text, failed: true, shown: describe(call, text) };
  }
  const text = contentText(result.text);
  const reason = REASONS.find((each) => each === result.reason);
  return {
    text,
    failed: result.failed ?? true,
    shown: readShown(result) ?? describe(call, text),
    ...(reason !== undefined && { reason }),
  };
}

const REASONS: readonly FailureReason[] = ["invalid-input", "limit", "timeout"];

/** Undefined: the record is of an older version, without this field. */
function readShown({ shown }: RecordedPart): ShownCall | undefined {
  return shown === undefined ? undefined : shownCall.parse(JSON.parse(contentText(shown)));
}

/** The gateway itself wrote the value, so only the type is checked. */
const shownCall = z.custom<ShownCall>(
  (value) =>
    z.looseObject({ type: z.enum(["search", "open", "find", "code", "mcp"]) }).safeParse(value)
      .success,
  "the details of a tool's result are not those of a tool of the gateway",
);

function findCited({ cited = [] }: TurnRecord, cursor: number, lines: CitedLines | undefined) {
  const found = cited.find(
    (each) =>
      each.cursor === cursor &&
      each.lines?.first === lines?.first &&
      each.lines?.last === lines?.last,
  );
  return found && citedSource.parse(JSON.parse(contentText(found.source)));
}

const citedSource: z.ZodType<CitedSource> = z
  .object({ url: z.string(), title: z.string(), text: z.string().optional() })
  .transform(({ text, ...source }) => ({ ...source, ...(text !== undefined && { text }) }));

/** The server's own name of the tool, if a result contains it. */
function toOrigin(recipient: string, results: readonly RecordedPart[]): ToolOrigin {
  for (const result of results) {
    const shown = result.name === recipient ? readShown(result) : undefined;
    if (shown?.type === "mcp") return { server: shown.server, tool: shown.tool };
  }
  const [server = "", ...tool] = recipient.split(".");
  return { server, tool: tool.join(".") };
}

/** `label.tool`, or `functions.tool` without a label. */
function recipientOf(name: string): string {
  return name.includes(".") ? name : flatRecipientOf(name);
}

/** `functions.label__tool`. */
function flatRecipientOf(name: string): string {
  return `functions.${name.replace(".", "__")}`;
}
