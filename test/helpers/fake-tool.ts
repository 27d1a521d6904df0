/** A tool that answers from a list, and records its calls. */
import type {
  GatewayCall,
  GatewayToolResult,
  GatewayToolRun,
  GatewayTool,
  ToolSession,
} from "../../src/tools/gateway-tool.ts";
import { countBrowserCall, describeBrowserCall } from "../../src/tools/browser/call.ts";
import { describeCode } from "../../src/tools/python/tool.ts";
import { systemMessage, userMessage } from "../../src/harmony/messages.ts";
import type { Turn, TurnGatewayTools } from "../../src/turn/turn.ts";
import { turnWith } from "./turns.ts";

export interface FakeTool extends GatewayTool {
  readonly calls: readonly GatewayCall[];
  readonly sessions: readonly ToolSession[];
  /** Number of open runs. */
  readonly openRuns: () => number;
}

export interface FakeToolOptions extends Partial<Omit<GatewayTool, "open">> {
  readonly answer?: (call: GatewayCall, signal: AbortSignal) => string | Promise<string>;
  readonly cite?: GatewayToolRun["cite"];
  readonly save?: () => string | undefined;
}

/** Without options: `python`, which answers `ok`. */
export function fakeTool(options: FakeToolOptions = {}): FakeTool {
  const { answer = () => "ok", cite, save, ...fields } = options;
  const calls: GatewayCall[] = [];
  const sessions: ToolSession[] = [];
  let open = 0;
  return {
    name: "python",
    namespace: { key: "python", name: "python", description: "Runs code.", functions: [] },
    rawBody: true,
    accepts: (recipient) => recipient === "python",
    describe: describeCode,
    ...fields,
    calls,
    sessions,
    openRuns: () => open,
    open(session) {
      sessions.push(session);
      open++;
      return Promise.resolve({
        async run(call: GatewayCall, signal: AbortSignal): Promise<GatewayToolResult> {
          calls.push(call);
          const text = await answer(call, signal);
          return { text, failed: false, shown: toShown(call, text) };
        },
        ...(cite && { cite }),
        save: save ?? (() => undefined),
        close() {
          open--;
          return Promise.resolve();
        },
      });
    },
  };
}

/** A fake tool with the name and namespace of the browser. */
export function fakeBrowser(options: FakeToolOptions = {}): FakeTool {
  const functions = ["search", "open", "find"].map((name) => ({ name, description: "" }));
  return fakeTool({
    name: "browser",
    namespace: { key: "browser", name: "browser", functions },
    rawBody: false,
    accepts: (recipient) => recipient === "browser" || recipient.startsWith("browser."),
    describe: describeBrowserCall,
    countsAs: countBrowserCall,
    ...options,
  });
}

/** A turn with these tools, in the system message and in the loop. */
export function turnWithTools(
  tools: readonly GatewayTool[],
  gatewayTools: Partial<TurnGatewayTools> = {},
  fields: Partial<Turn> = {},
): Turn {
  const namespaces = tools.flatMap(({ namespace }) => namespace ?? []);
  return turnWith({
    messages: [
      systemMessage({ identity: "You are a test.", effort: "medium", namespaces }),
      userMessage("hi"),
    ],
    gatewayTools: { tools, maxCalls: 10, citations: "link", ...gatewayTools },
    ...fields,
  });
}

function toShown({ recipient, body }: GatewayCall, text: string): GatewayToolResult["shown"] {
  switch (recipient) {
    case "browser.search":
      return {
        type: "search",
        query: body,
        results: [{ url: "https://a.example/", title: "A", snippet: text }],
      };
    case "browser.open":
      return { type: "open", url: "https://a.example/", title: "A" };
    case "browser.find":
      return { type: "find", pattern: body, url: "https://a.example/" };
    default:
      return {
        type: "code",
        code: body,
        containerId: "cntr_1",
        outputs: [{ type: "logs", logs: text }],
      };
  }
}
