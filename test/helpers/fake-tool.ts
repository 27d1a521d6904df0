/** A tool that answers from a list, and records its calls. */
import type { GatewayOptions } from "../../src/index.ts";

/** A tool that the gateway runs. */
export type GatewayTool = ReturnType<NonNullable<NonNullable<GatewayOptions["tools"]>["python"]>>;
type ToolSession = Parameters<GatewayTool["open"]>[0];
type GatewayToolRun = Awaited<ReturnType<GatewayTool["open"]>>;
type GatewayCall = Parameters<GatewayToolRun["run"]>[0];
type GatewayToolResult = Awaited<ReturnType<GatewayToolRun["run"]>>;

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
    describe: ({ body }) => ({ type: "code", code: body, containerId: "", outputs: [] }),
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
    countsAs: (recipient) =>
      recipient === "browser.search" ? "search" : recipient === "browser.open" ? "open" : undefined,
    ...options,
  });
}

/** A call whose result is not known yet. */
const describeBrowserCall: GatewayTool["describe"] = ({ recipient, body }) => {
  const [, text = ""] = /"(?:query|pattern)":\s*"([^"]*)"/.exec(body) ?? [];
  if (recipient === "browser.find") return { type: "find", pattern: text };
  return recipient === "browser.search"
    ? { type: "search", query: text, results: [] }
    : { type: "open" };
};

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
