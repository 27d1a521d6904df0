/**
 * Codex, headless, over HTTP and over WebSocket: it runs commands, creates and patches files, continues after malformed
 * calls, is resumed, answers with a schema, compacts a long conversation itself and through the gateway, calls an MCP
 * server directly and after a tool search, and delegates to a sub-agent.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { codex as connected } from "../../src/node/cli/connect/clients.ts";
import { askTarget } from "../../src/node/cli/connect/target.ts";
import { startGatewayProcess } from "../../test/helpers/gateway-process.ts";
import type { Check, ClientResult, MatrixClient } from "./client.ts";
import { MCP_SERVER, MODEL } from "./coding-agent.ts";
import { startScriptedAgent, type Task, type ToolCall } from "./scripted-agent.ts";
import { startTap, type Tap } from "./tap.ts";
import { toTrainedTask } from "./trained.ts";
import { greyPng, SEEN, startVision } from "./vision.ts";
import { createWorkspace, type Workspace } from "./workspace.ts";

const PACKAGE = "@openai/codex";
const SUMMARY = "The user lets the model count.";
const CODEX = join(import.meta.dirname, "node_modules", PACKAGE, "bin/codex.js");
const FLAGS = ["--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"];

export const codexOverHttp: MatrixClient = {
  name: "Codex over HTTP",
  package: PACKAGE,
  run: (folder) => run(folder, false),
};

export const codexOverWebSocket: MatrixClient = {
  name: "Codex over WebSocket",
  package: PACKAGE,
  run: (folder) => run(folder, true),
};

/** A limit above the needs of a short task, and below the output of the long ones. */
const LIMIT = ["-c", "model_auto_compact_token_limit=6000"];

const UPDATE = "*** Update File: patched.txt\n@@\n one\n-two\n+three";

const TASKS = {
  write: {
    name: "write",
    ask: "Write notes and copy them.",
    calls: [shell("echo first > notes.txt"), shell("cat notes.txt > copy.txt")],
    answer: "The notes are written and copied.",
  },
  resume: {
    name: "resume",
    ask: "Change the notes.",
    calls: [shell("sed -i s/first/second/ notes.txt")],
    answer: "The notes are changed.",
  },
  count: {
    name: "count",
    ask: "Count to six in count.txt.",
    calls: [
      count(1),
      count(2),
      { ...count(3), header: "<|channel|>analysis to=functions.exec_command code" },
      { ...count(4), header: "<|channel|>commentary to=exec_command<|channel|>commentary json" },
      count(5),
      count(6),
    ],
    answer: "Counted to six.",
  },
  patch: {
    name: "patch",
    ask: "Patch a file.",
    calls: [
      patch("*** Add File: patched.txt\n+one\n+two"),
      // Models trained on functions wrap the text in JSON.
      { tool: "apply_patch", arguments: { input: toPatch(UPDATE) } },
    ],
    answer: "The file is patched.",
  },
  parent: {
    name: "parent",
    ask: "Let somebody else do it.",
    calls: [
      {
        namespace: "multi_agent_v1",
        tool: "spawn_agent",
        arguments: { message: "Make a file for me." },
      },
      {
        namespace: "multi_agent_v1",
        tool: "wait_agent",
        arguments: (prompt) => ({ targets: [agentId(prompt)], timeout_ms: 120_000 }),
      },
    ],
    answer: "Somebody else has done it.",
  },
  child: {
    name: "child",
    ask: "Make a file for me.",
    calls: [shell("echo child > child.txt")],
    answer: "The file of the child is made.",
  },
  echo: {
    name: "echo",
    ask: "Let the server say something.",
    calls: [echo("ping")],
    answer: "The server has said it.",
  },
  search: {
    name: "search",
    ask: "Find a server and let it say something.",
    calls: [{ tool: "tool_search", arguments: { query: "echo", limit: 5 } }, echo("pong")],
    answer: "The server was found.",
  },
  lite: {
    name: "lite",
    ask: "Do both at once.",
    calls: [shell("echo lite > lite.txt"), echo("lite")],
    answer: "Both are done.",
  },
  aloud: {
    // Short reasoning is not summarized.
    name: `aloud${", and on".repeat(100)}`,
    ask: "Think, and show it.",
    calls: [shell("true")],
    answer: "Reasoned and shown.",
  },
  summary: {
    name: "summary",
    // The gateway summarizes the reasoning of that task.
    ask: "aloud, and on",
    calls: [],
    answer: "**Thinking**\n\nIt thinks.",
  },
  schema: {
    name: "schema",
    ask: "How many files are there?",
    calls: [shell("ls")],
    answer: '{"files":3}',
  },
  look: {
    name: "look",
    ask: "Look at the screenshot, twice.",
    calls: [1, 2].map(() => ({ tool: "view_image", arguments: { path: "shot.png" } })),
    answer: "Three tests failed.",
  },
  fill: {
    name: "fill",
    ask: "Count to two thousand.",
    calls: [shell("seq 1 2000")],
    answer: "Counted to two thousand.",
  },
  overflow: {
    name: "overflow",
    ask: "And count to three thousand.",
    calls: [shell("seq 1 3000")],
    answer: "Counted to three thousand.",
  },
  goOn: {
    name: "go on",
    ask: "Then count to two.",
    calls: [shell("seq 1 2")],
    answer: "Counted to two.",
  },
  plan: {
    name: "plan",
    ask: "Follow the plan: four steps.",
    calls: [1, 2, 3, 4].map((step) =>
      shell(`echo ${step} >> plan.txt${step === 2 ? " && seq 1 2000" : ""}`),
    ),
    answer: "The plan is done.",
  },
  compactHere: {
    name: "compact here",
    // From the gateway's instruction.
    ask: "Summarize this conversation so that you could go on from the summary alone",
    calls: [],
    answer: SUMMARY,
    countsSteps: true,
  },
  compact: {
    name: "compact",
    // From Codex' own instruction.
    ask: "CONTEXT CHECKPOINT COMPACTION",
    calls: [],
    answer: SUMMARY,
  },
} satisfies Record<string, Task>;

const MAPPED = {
  "container.exec": "exec_command",
  "repo_browser.apply_patch": "apply_patch",
};

function shell(cmd: string): ToolCall {
  return { tool: "exec_command", arguments: { cmd } };
}

function count(number: number): ToolCall {
  return shell(`echo ${number} >> count.txt`);
}

function echo(message: string): ToolCall {
  return { namespace: "mcp__everything", tool: "echo", arguments: { message } };
}

function patch(hunk: string): ToolCall {
  return { tool: "apply_patch", arguments: toPatch(hunk) };
}

function toPatch(hunk: string): string {
  return `*** Begin Patch\n${hunk}\n*** End Patch\n`;
}

function agentId(prompt: string): string {
  return /"agent_id":\s*"([^"]+)"/.exec(prompt)?.[1] ?? "";
}

const SCHEMA = {
  type: "object",
  properties: { files: { type: "integer" } },
  required: ["files"],
  additionalProperties: false,
};

async function run(folder: string, webSocket: boolean): Promise<ClientResult> {
  const workspace = createWorkspace(folder);
  const { contentOf } = workspace;
  const checks: Check[] = [];
  let checkedPrompts = 0;
  const check = (name: string, passed: boolean) => {
    checks.push({ name, passed });
    checkedPrompts = agent.prompts.length;
  };
  const trained = toTrainedTask(workspace.project, MAPPED);
  const agent = await startScriptedAgent([...Object.values(TASKS), trained]);
  const tap = await startTap();
  const surroundings = { workspace, tap, webSocket };
  /** In a prompt since the last check. */
  const seen = (...texts: string[]) =>
    agent.prompts
      .slice(checkedPrompts)
      .some((prompt) => texts.every((text) => prompt.includes(text)));
  const args = ["--engine", "vllm", "--url", agent.url];
  try {
    await withCodex(args, surroundings, async (codex) => {
      const first = await codex(TASKS.write.ask);
      check("runs commands that make files", contentOf("copy.txt") === "first\n");
      check("gives the answer", first.answer === TASKS.write.answer);
      const resumed = await codex("resume", first.thread, TASKS.resume.ask);
      check(
        "`resume`: changes the file",
        resumed.answer === TASKS.resume.answer && contentOf("notes.txt") === "second\n",
      );
      const counted = await codex(TASKS.count.ask);
      check(
        "six calls, two of them malformed by the model: all are run",
        counted.answer === TASKS.count.answer && contentOf("count.txt") === "1\n2\n3\n4\n5\n6\n",
      );
      const patched = await codex(TASKS.patch.ask);
      check(
        "freeform `apply_patch`, as it is and wrapped in JSON: makes a file and changes it",
        patched.answer === TASKS.patch.answer && contentOf("patched.txt") === "one\nthree\n",
      );
      const parent = await codex(TASKS.parent.ask);
      check(
        "has a sub-agent make a file, and gets its answer",
        parent.answer === TASKS.parent.answer &&
          contentOf("child.txt") === "child\n" &&
          seen(TASKS.parent.ask, TASKS.child.answer),
      );
      const schema = workspace.configure("schema.json", SCHEMA);
      const { answer } = await codex("--output-schema", schema, TASKS.schema.ask);
      check("`--output-schema`: answers by it, after a call", answer === TASKS.schema.answer);
    });
    await withCodex(args, surroundings, async (codex) => {
      const { thread } = await codex(TASKS.fill.ask);
      const { answer } = await codex("resume", thread, ...LIMIT, TASKS.goOn.ask);
      check(
        "compacts when its own limit is reached, and finishes the task",
        answer === TASKS.goOn.answer && seen(TASKS.goOn.ask, SUMMARY),
      );
    });
    const vision = await startVision();
    try {
      writeFileSync(join(workspace.project, "shot.png"), greyPng());
      const seeing = { ...surroundings, entry: { input_modalities: ["text", "image"] } };
      await withCodex([...args, ...vision.args], seeing, async (codex) => {
        const { answer } = await codex(TASKS.look.ask);
        check(
          "`view_image`, twice: the image is described once, and the model reads the description",
          answer === TASKS.look.answer && vision.images() === 1 && seen(TASKS.look.ask, SEEN),
        );
      });
    } finally {
      vision.close();
    }
    await withCodex([...args, "--trained-tools", "direct"], surroundings, async (codex) => {
      const { answer } = await codex(trained.ask);
      for (const { name, passed } of trained.checks(agent.prompts)) {
        check(name, passed && answer === trained.answer);
      }
    });
    await withCodex(args, { ...surroundings, mcp: true }, async (codex) => {
      const { answer } = await codex(TASKS.echo.ask);
      check(
        "calls a tool of an MCP server",
        answer === TASKS.echo.answer && seen(TASKS.echo.ask, "Echo: ping"),
      );
    });
    const searching = { ...surroundings, mcp: true, entry: { supports_search_tool: true } };
    await withCodex(args, searching, async (codex) => {
      const { answer } = await codex(TASKS.search.ask);
      check(
        "searches for a tool and calls it",
        answer === TASKS.search.answer && seen(TASKS.search.ask, "Echo: pong"),
      );
    });
    const lite = { ...surroundings, mcp: true, entry: { use_responses_lite: true } };
    await withCodex(args, lite, async (codex) => {
      const { answer } = await codex(TASKS.lite.ask);
      check(
        "tools in the input (Responses Lite): runs a command and calls an MCP server",
        answer === TASKS.lite.answer &&
          contentOf("lite.txt") === "lite\n" &&
          seen(TASKS.lite.ask, "Echo: lite"),
      );
    });
    await withCodex(args, { ...surroundings, provider: "OpenAI" }, async (codex) => {
      const { thread } = await codex(TASKS.fill.ask);
      const { answer } = await codex("resume", thread, ...LIMIT, TASKS.goOn.ask);
      check(
        "has the gateway compact (a provider called OpenAI), and finishes the task",
        answer === TASKS.goOn.answer && seen(TASKS.goOn.ask, SUMMARY, TASKS.fill.ask),
      );
    });
    await withCodex(args, { ...surroundings, provider: "OpenAI" }, async (codex) => {
      const { answer } = await codex(...LIMIT, TASKS.plan.ask);
      check(
        "a plan of four steps, compacted by the gateway after the second: ends, each step once",
        answer === TASKS.plan.answer &&
          contentOf("plan.txt") === "1\n2\n3\n4\n" &&
          seen(TASKS.plan.ask, "Steps done: 2"),
      );
    });
    await withCodex([...args, "--reasoning-summaries"], surroundings, async (codex) => {
      const { summaries } = await codex("-c", `model_reasoning_summary="auto"`, TASKS.aloud.ask);
      check(
        "displays the summary of each analysis message",
        summaries.length === 2 && summaries.every((text) => text === TASKS.summary.answer),
      );
    });
    // Codex assumes a longer context until it has read the gateway's catalogue, or a limit is set.
    const short = [...args, "--context-length", "13000"];
    await withCodex(short, surroundings, async (codex) => {
      const { thread } = await codex(TASKS.fill.ask);
      const full = await codex("resume", thread, TASKS.overflow.ask);
      const told =
        full.errors.some((error) => error.includes("ran out of room")) ||
        full.answer === TASKS.overflow.answer;
      const { answer } = await codex("resume", thread, ...LIMIT, TASKS.goOn.ask);
      check(
        "a conversation that no longer fits: is compacted or said not to fit; with a limit set, is compacted and goes on",
        told && answer === TASKS.goOn.answer && seen(TASKS.goOn.ask, SUMMARY),
      );
    });
  } finally {
    await tap.close();
    await agent.close();
  }
  check(
    webSocket ? "all of it went over WebSocket" : "all of it went over HTTP",
    (webSocket ? tap.counts.http : tap.counts.webSocket) === 0,
  );
  return {
    checks,
    analysis: agent.analysis(),
    tools: tap.tools(agent.prompts),
    exact: tap.exact(),
  };
}

interface Surroundings {
  readonly workspace: Workspace;
  readonly tap: Tap;
  readonly webSocket: boolean;
  /** Whether to configure an MCP server. */
  readonly mcp?: boolean;
  /** The provider's name, from which Codex infers the server's features. */
  readonly provider?: string;
  /** Overrides of the model's entry in the catalogue. */
  readonly entry?: object;
}

type Codex = (...args: string[]) => Promise<Turn>;

interface Turn {
  readonly thread: string;
  /** Schema of the last message. */
  readonly answer: string | undefined;
  readonly errors: readonly string[];
  /** Displayed summaries of reasoning. */
  readonly summaries: readonly string[];
}

/** Runs Codex in front of a gateway that lives as long as `use` takes. */
async function withCodex<Result>(
  gatewayArgs: readonly string[],
  { workspace, tap, webSocket, mcp = false, provider = "harmony-gateway", entry }: Surroundings,
  use: (codex: Codex) => Promise<Result>,
): Promise<Result> {
  const gateway = await startGatewayProcess(gatewayArgs);
  tap.forwardTo(new URL(gateway.baseURL).origin);
  try {
    const catalogue = workspace.configure(".codex/models.json", {
      models: [{ ...(await connectedEntry(new URL(gateway.baseURL).origin)), ...entry }],
    });
    workspace.configure(
      ".codex/config.toml",
      [
        `model = "${MODEL}"`,
        `model_provider = "gateway"`,
        `model_catalog_json = "${catalogue}"`,
        `[model_providers.gateway]`,
        `name = "${provider}"`,
        `base_url = "${tap.baseURL}"`,
        `wire_api = "responses"`,
        `supports_websockets = ${webSocket}`,
        ...(mcp ? MCP_CONFIGURATION : []),
      ].join("\n"),
    );
    return await use(async (...args) => {
      const ended = await workspace.run([process.execPath, CODEX, "exec", ...FLAGS, ...args]);
      return toTurn(ended.stdout);
    });
  } finally {
    await tap.readMetrics();
    await gateway.stop();
  }
}

const [mcpCommand, ...mcpArgs] = MCP_SERVER;
const MCP_CONFIGURATION = [
  "[mcp_servers.everything]",
  `command = "${mcpCommand}"`,
  `args = ${JSON.stringify(mcpArgs)}`,
  "startup_timeout_sec = 60",
  "required = true",
];

const printedCatalogue = z.object({ models: z.tuple([z.looseObject({})]) });

/** The catalogue's entry for the model, as `harmony-gateway connect codex` writes it. */
async function connectedEntry(origin: string): Promise<object> {
  const [, catalogue] = connected.settings(await askTarget(origin, undefined)).files ?? [];
  return printedCatalogue.parse(JSON.parse(catalogue?.text ?? "")).models[0];
}

const event = z.looseObject({
  type: z.string(),
  thread_id: z.string().optional(),
  message: z.string().optional(),
  error: z.looseObject({ message: z.string() }).optional(),
  item: z.looseObject({ type: z.string(), text: z.string().optional() }).optional(),
});

function toTurn(stdout: string): Turn {
  const events = stdout
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => event.parse(JSON.parse(line)));
  return {
    thread: events.find(({ thread_id }) => thread_id !== undefined)?.thread_id ?? "",
    answer: events.findLast(({ item }) => item?.type === "agent_message")?.item?.text,
    summaries: events.flatMap(({ type, item }) =>
      type === "item.completed" && item?.type === "reasoning" ? (item.text ?? "") : [],
    ),
    errors: events.flatMap(({ error, message }) => error?.message ?? message ?? []),
  };
}
