/**
 * The revisions of the vendors' APIs that clients send by default, and the gateway's handling of each, for a table in
 * the docs.
 */
import { toAligned } from "./figures.ts";

interface Revision {
  readonly api: "Chat Completions" | "Responses" | "Messages";
  /** The beta, the dated type or the member. */
  readonly name: string;
  /** A package that sends it or has its types. */
  readonly package: string;
  /** `skipped`: the rest of the request is served. `refused`: a 400, or the error that the client acts on. */
  readonly treatment: "honoured" | "skipped" | "refused";
  readonly note?: string;
  /** The test that shows it. */
  readonly test: string;
}

const ANTHROPIC = "@anthropic-ai/sdk 1.14.0";
const OPENAI = "openai 7.59.0";
const OPENROUTER = "@openrouter/sdk 1.3.19";

export const REVISIONS: readonly Revision[] = [
  messages(
    "tool_search_tool_bm25_20251119",
    "honoured",
    "test/api/tool-search.test.ts",
    "Also `…_regex_…`, with `defer_loading`.",
  ),
  messages("cache-diagnosis-2026-04-07", "honoured", "test/api/cache-diagnostics.test.ts"),
  messages("compact-2026-01-12", "honoured", "test/api/auto-compaction.test.ts"),
  messages(
    "context-management-2025-06-27",
    "honoured",
    "test/api/messages/context-management.test.ts",
  ),
  messages("inline-tools-2026-09-15", "honoured", "test/api/messages/route.test.ts"),
  messages("mcp-client-2025-04-04", "honoured", "test/api/messages/mcp-servers.test.ts"),
  messages("mcp-client-2025-11-20", "honoured", "test/api/messages/mcp-servers.test.ts"),
  messages(
    "mid-conversation-output-config-2026-07-01",
    "honoured",
    "test/api/messages/route.test.ts",
    "The effort. The format is skipped.",
  ),
  messages(
    "mid-conversation-system-clear-at-2026-08-21",
    "honoured",
    "test/api/messages/route.test.ts",
  ),
  messages(
    "mid-conversation-tool-changes-2026-07-01",
    "honoured",
    "test/api/messages/route.test.ts",
  ),
  messages(
    "message-threads-2026-08-12",
    "refused",
    "test/api/messages/cases.test.ts",
    "The SDK then sends the whole conversation.",
  ),
  {
    ...messages(
      "safeguards",
      "refused",
      "test/api/messages/claude-code.test.ts",
      "Claude Code then runs its check itself.",
    ),
    package: "@anthropic-ai/claude-code 2.1.332",
  },
  messages("any other beta", "skipped", "test/api/messages/claude-code.test.ts"),
  responses("configuration_update", "honoured", "test/api/responses/turn-control.test.ts"),
  responses(
    "prompt_cache_options",
    "honoured",
    "test/api/cache-diagnostics.test.ts",
    "`comparison_response_id` and `prewarm`. The rest is skipped.",
  ),
  responses("stream_id", "honoured", "test/clients/responses-websocket.test.ts"),
  responses("tool_search", "honoured", "test/api/tool-search.test.ts"),
  responses(
    "response.steer",
    "honoured",
    "test/api/responses/socket-route.test.ts",
    "Where the gateway runs tools.",
  ),
  responses(
    "background_options",
    "skipped",
    "test/never-silently-wrong/future.test.ts",
    "As any field that is not known: `x-harmony-skipped-fields` names it.",
  ),
  openRouter("openrouter:datetime", "test/api/chat-completions/hosted-tools.test.ts"),
  openRouter("openrouter:tool_search", "test/api/tool-search.test.ts"),
  openRouter("openrouter:web_fetch", "test/api/chat-completions/hosted-tools.test.ts"),
  {
    ...openRouter("any other tool", "test/never-silently-wrong/asked-for.test.ts"),
    treatment: "skipped",
  },
];

/** The rows between the marks of a page. */
export function withRevisions(page: string): string {
  return page.replace(
    /(<!-- revisions -->\n\n)[\s\S]*?(\n\n<!-- \/ -->)/,
    (_, head: string, foot: string) => {
      const rows = REVISIONS.map(({ api, name, package: sender, treatment, note = "", test }) => [
        api,
        `\`${name}\``.replace(/`(any other \w+)`/, "$1"),
        sender,
        treatment,
        [note, `[test](../${test})`].filter((each) => each !== "").join(" "),
      ]);
      const heads = ["API", "revision", "seen in", "", ""];
      return head + toAligned([heads, heads.map(() => "---"), ...rows]) + foot;
    },
  );
}

function messages(
  name: string,
  treatment: Revision["treatment"],
  test: string,
  note?: string,
): Revision {
  return { api: "Messages", name, package: ANTHROPIC, treatment, test, ...(note && { note }) };
}

function responses(
  name: string,
  treatment: Revision["treatment"],
  test: string,
  note?: string,
): Revision {
  return { api: "Responses", name, package: OPENAI, treatment, test, ...(note && { note }) };
}

function openRouter(name: string, test: string): Revision {
  return { api: "Chat Completions", name, package: OPENROUTER, treatment: "honoured", test };
}
