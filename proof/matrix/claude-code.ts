/**
 * Claude Code, headless, with the variables that `harmony-gateway connect claude-code` prints: it writes, edits and runs; a finished
 * session is resumed; an interrupted tool loop is continued after a restart of the gateway; and a conversation that is
 * too long is compacted.
 */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { claudeCode as connected } from "../../src/node/cli/connect/clients.ts";
import { askTarget } from "../../src/node/cli/connect/target.ts";
import { startGatewayProcess } from "../../test/helpers/gateway-process.ts";
import type { Check, ClientResult, MatrixClient } from "./client.ts";
import { startTap, type Tap } from "./tap.ts";
import { startScriptedAgent, type Task, type ToolCall } from "./scripted-agent.ts";
import { toTrainedTask } from "./trained.ts";
import { greyPng, SEEN, startVision } from "./vision.ts";
import { createWorkspace } from "./workspace.ts";

const PACKAGE = "@anthropic-ai/claude-code";
const SUMMARY = "The user lets the model count.";
/** Limits a run that goes wrong. A later `--max-turns` overrides it. */
const LIMIT = ["--max-turns", "20"];
/** Finds the binary of this platform, which the package's install script would copy. */
const CLAUDE = join(import.meta.dirname, "node_modules", PACKAGE, "cli-wrapper.cjs");

export const claudeCode: MatrixClient = { name: "Claude Code", package: PACKAGE, run };

async function run(folder: string): Promise<ClientResult> {
  const workspace = createWorkspace(folder);
  const { home, project, contentOf } = workspace;
  const tasks = toTasks(project);
  const checks: Check[] = [];
  const check = (name: string, passed: boolean) => checks.push({ name, passed });

  const trained = toTrainedTask(project, MAPPED);
  const agent = await startScriptedAgent([...Object.values(tasks), trained]);
  const tap = await startTap();
  const surroundings = { home, project, tap };
  const sealingKey = randomBytes(32).toString("base64url");
  const args = ["--engine", "vllm", "--url", agent.url, "--sealing-keys", sealingKey];
  try {
    const cut = await withClaude(args, surroundings, async (claude) => {
      const first = await claude(tasks.write.ask);
      check("creates a file and edits it", contentOf("notes.txt") === "second\n");
      check("runs a command", contentOf("copy.txt") === "second\n");
      check("gives the answer", first.result === tasks.write.answer);

      const resumed = await claude("--resume", first.session_id, tasks.edit.ask);
      check(
        "`--resume`: reads the file and edits it again",
        resumed.result === tasks.edit.answer && contentOf("notes.txt") === "third\n",
      );

      const { subtype } = await claude("--max-turns", "2", tasks.count.ask);
      return subtype === "error_max_turns" && contentOf("count.txt") === "1\n2\n";
    });
    // A new gateway without the state of the first.
    await withClaude(args, surroundings, async (claude) => {
      const continued = await claude("--continue", "Go on.");
      check(
        "`--continue` of a tool loop that was cut off, after a restart of the gateway: finishes it",
        cut && continued.result === tasks.count.answer && contentOf("count.txt") === "1\n2\n3\n",
      );
    });
    const vision = await startVision();
    try {
      writeFileSync(join(project, "shot.png"), greyPng());
      await withClaude([...args, ...vision.args], surroundings, async (claude) => {
        const { result } = await claude(tasks.look.ask);
        check(
          "a screenshot that it reads twice: is described once, and the model reads the description",
          result === tasks.look.answer &&
            vision.images() === 1 &&
            agent.prompts.some(
              (prompt) => prompt.includes(SEEN) && prompt.includes(tasks.look.ask),
            ),
        );
      });
    } finally {
      vision.close();
    }
    // The request body that Claude Code sends with a switch of Anthropic's.
    const clearing = { ...surroundings, variables: { CLAUDE_CODE_EXTRA_BODY: CLEARING } };
    await withClaude(args, clearing, async (claude) => {
      const { result } = await claude(tasks.clear.ask);
      const own = agent.prompts.filter((prompt) => prompt.includes(tasks.clear.ask));
      check(
        "results of its tools, cleared by `clear_tool_uses_20250919`: leave the prompt, all but the last",
        result === tasks.clear.answer &&
          own.at(-1)?.includes("This result was removed to save space.") === true &&
          own.at(-1)?.includes("1050\n1051") === false &&
          own.at(-1)?.includes("3050\n3051") === true,
      );
    });
    await withClaude([...args, "--trained-tools", "direct"], surroundings, async (claude) => {
      const { result } = await claude(trained.ask);
      for (const { name, passed } of trained.checks(agent.prompts)) {
        check(name, passed && result === trained.answer);
      }
    });
    // Claude Code is configured with a longer context than there is, so that it gets the gateway's error.
    const short = [...args, "--context-length", "17000"];
    const longer = { ...surroundings, variables: { CLAUDE_CODE_MAX_CONTEXT_TOKENS: "131072" } };
    await withClaude(short, longer, async (claude) => {
      await claude(tasks.fill.ask);
      const { result } = await claude("--continue", tasks.overflow.ask);
      check(
        "a conversation that no longer fits: is compacted, and the task is finished",
        result === tasks.overflow.answer &&
          agent.prompts.some((prompt) => prompt.includes(SUMMARY)),
      );
    });
  } finally {
    await tap.close();
    await agent.close();
  }
  return {
    checks,
    analysis: agent.analysis(),
    tools: tap.tools(agent.prompts),
    exact: tap.exact(),
  };
}

function toTasks(project: string) {
  const notes = join(project, "notes.txt");
  const edit = (from: string, to: string) => ({
    tool: "Edit",
    arguments: { file_path: notes, old_string: from, new_string: to },
  });
  return {
    write: {
      name: "write",
      ask: "Write notes and copy them.",
      calls: [
        { tool: "Write", arguments: { file_path: notes, content: "first\n" } },
        edit("first", "second"),
        bash("cat notes.txt > copy.txt"),
      ],
      answer: "The notes are written and copied.",
    },
    edit: {
      name: "edit",
      ask: "Change the notes once more.",
      calls: [{ tool: "Read", arguments: { file_path: notes } }, edit("second", "third")],
      answer: "The notes are changed.",
    },
    count: {
      name: "count",
      ask: "Count to three in count.txt.",
      calls: [1, 2, 3].map((number) => bash(`echo ${number} >> count.txt`)),
      answer: "Counted to three.",
    },
    look: {
      name: "look",
      ask: "Look at the screenshot, twice.",
      calls: [1, 2].map(() => ({
        tool: "Read",
        arguments: { file_path: join(project, "shot.png") },
      })),
      answer: "Three tests failed.",
    },
    clear: {
      name: "clear",
      ask: "Print three results.",
      calls: [1, 2, 3].map((number) => bash(`seq ${number}000 ${number}100`)),
      answer: "Three results were printed.",
    },
    fill: {
      name: "fill",
      ask: "Count to two thousand.",
      calls: [bash("seq 1 2000")],
      answer: "Counted to two thousand.",
    },
    overflow: {
      name: "overflow",
      ask: "And count to fifteen hundred.",
      calls: [bash("seq 1 1500")],
      answer: "Counted to fifteen hundred.",
    },
    compact: {
      name: "compact",
      // From Claude Code's own instruction.
      ask: "Your task is to create a detailed summary",
      calls: [],
      answer: `<analysis>Counting.</analysis><summary>${SUMMARY}</summary>`,
    },
  } satisfies Record<string, Task>;
}

const MAPPED = { "container.exec": "Bash", "repo_browser.open_file": "Read" };

function bash(command: string): ToolCall {
  return { tool: "Bash", arguments: { command, description: "Runs a command" } };
}

const CLEARING = JSON.stringify({
  context_management: {
    edits: [
      {
        type: "clear_tool_uses_20250919",
        trigger: { type: "tool_uses", value: 1 },
        keep: { type: "tool_uses", value: 1 },
      },
    ],
  },
});

interface Surroundings {
  readonly home: string;
  readonly project: string;
  readonly tap: Tap;
  /** In addition to those that the gateway prints. */
  readonly variables?: Readonly<Record<string, string>>;
}

type Claude = (...args: string[]) => Promise<z.infer<typeof output>>;

const output = z.object({
  session_id: z.string(),
  subtype: z.string(),
  result: z.string().optional(),
});

/** Runs Claude Code in front of a gateway that lives as long as `use` takes. */
async function withClaude<Result>(
  gatewayArgs: readonly string[],
  surroundings: Surroundings,
  use: (claude: Claude) => Promise<Result>,
): Promise<Result> {
  const gateway = await startGatewayProcess(gatewayArgs);
  try {
    surroundings.tap.forwardTo(new URL(gateway.baseURL).origin);
    const target = await askTarget(new URL(gateway.baseURL).origin, undefined);
    const { origin } = new URL(surroundings.tap.baseURL);
    const { variables: printed } = connected.settings({ ...target, origin });
    const variables = { ...printed, ...surroundings.variables };
    return await use((...args) => runClaude(variables, surroundings, args));
  } finally {
    await gateway.stop();
  }
}

/** Claude Code's output, even if it exits with an error such as the limit of turns. */
async function runClaude(
  variables: Readonly<Record<string, string>>,
  { home, project }: Surroundings,
  args: readonly string[],
): Promise<z.infer<typeof output>> {
  const options = ["--output-format", "json", "--dangerously-skip-permissions", ...LIMIT];
  const running = promisify(execFile)(process.execPath, [CLAUDE, "-p", ...options, ...args], {
    cwd: project,
    env: {
      PATH: process.env["PATH"],
      HOME: home,
      // Without it, root, who is the user in most containers, may not skip permissions.
      IS_SANDBOX: "1",
      DISABLE_AUTOUPDATER: "1",
      ...variables,
    },
    timeout: 300_000,
  });
  running.child.stdin?.end();
  const text = await running.then(
    ({ stdout }) => stdout,
    (error: unknown) => z.object({ stdout: z.string() }).parse(error).stdout,
  );
  return output.parse(JSON.parse(text));
}
