/**
 * The tasks of every coding agent: create a file, patch it, run commands; six calls in a loop, two of them malformed;
 * continue an earlier session; call an MCP server; and reach the end of a short context.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startGatewayProcess } from "../../test/helpers/gateway-process.ts";
import type { Check, ClientResult, MatrixClient } from "./client.ts";
import { startScriptedAgent, type Task, type ToolCall } from "./scripted-agent.ts";
import { startTap, type Tap } from "./tap.ts";
import { toTrainedTask } from "./trained.ts";
import { greyPng, SEEN, startVision } from "./vision.ts";
import { createWorkspace, type Workspace } from "./workspace.ts";

export const MODEL = "openai/gpt-oss-20b";
/** A real MCP server, with a tool `echo`. */
export const MCP_SERVER = [
  process.execPath,
  join(import.meta.dirname, "node_modules/@modelcontextprotocol/server-everything/dist/index.js"),
  "stdio",
] as const;

export interface CodingAgent {
  readonly name: string;
  /** Its npm package, pinned in `proof/matrix/package.json`. */
  readonly package: string;
  readonly tools: AgentTools;
  /**
   * The agent's tools by the trained tools shown with `trainedTools: direct`. Absent: there is no profile of the agent.
   */
  readonly mapped?: Readonly<Record<string, string>>;
  /** Writes its configuration. */
  configure(workspace: Workspace, baseURL: string): void;
  /** The command for a prompt in a new session. */
  start(ask: string): readonly string[];
  /** The command for a prompt in the last session. Absent if that is impossible. */
  resume?(ask: string): readonly string[];
  readonly notes?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

/** Calls to the agent's own tools. Some require another call first. Paths are absolute. */
export interface AgentTools {
  write(path: string, content: string): ToolCall;
  edit(path: string, from: string, to: string): readonly ToolCall[];
  shell(command: string): ToolCall;
  /** A call to the MCP server `everything`. */
  echo(message: string): readonly ToolCall[];
  /** A call that returns an image. Absent: its tools return none. */
  look?(path: string): ToolCall;
}

export function toMatrixClient(agent: CodingAgent): MatrixClient {
  return { name: agent.name, package: agent.package, run: (folder) => run(agent, folder) };
}

async function run(client: CodingAgent, folder: string): Promise<ClientResult> {
  const workspace = createWorkspace(folder);
  const { contentOf } = workspace;
  const tasks = toTasks(workspace.project, client.tools);
  const checks: Check[] = [];
  const check = (name: string, passed: boolean) => checks.push({ name, passed });
  const trained = client.mapped && toTrainedTask(workspace.project, client.mapped);
  const agent = await startScriptedAgent([...Object.values(tasks), ...(trained ? [trained] : [])]);
  const engine = ["--engine", "vllm", "--url", agent.url];
  const gateway = await startGatewayProcess(engine);
  const tap = await startTap();
  tap.forwardTo(new URL(gateway.baseURL).origin);
  try {
    client.configure(workspace, tap.baseURL);
    const ask = async (task: Task, command = client.start(task.ask)) => {
      const { stdout } = await workspace.run(command, client.environment);
      return stdout.includes(task.answer);
    };
    const written = await ask(tasks.write);
    check("creates a file and edits it", contentOf("notes.txt")?.trim() === "second");
    check("runs a command", contentOf("copy.txt")?.trim() === "second");
    check("gives the answer", written);
    if (client.resume !== undefined) {
      const resumed = await ask(tasks.resume, client.resume(tasks.resume.ask));
      const both = agent.prompts.some(
        (prompt) => prompt.includes(tasks.write.ask) && prompt.includes(tasks.resume.ask),
      );
      check(
        "goes on with the session: edits the file again",
        resumed && both && contentOf("notes.txt")?.trim() === "third",
      );
    }
    const counted = await ask(tasks.count);
    check(
      "six calls, two of them malformed by the model: all are run",
      counted && contentOf("count.txt") === "1\n2\n3\n4\n5\n6\n",
    );
    const echoed = await ask(tasks.echo);
    check(
      "calls a tool of an MCP server",
      echoed && agent.prompts.some((prompt) => prompt.includes("Echo: ping")),
    );
    if (client.tools.look !== undefined) {
      writeFileSync(join(workspace.project, "shot.png"), greyPng());
      const vision = await startVision();
      await throughGateway(tap, [...engine, ...vision.args], async () => {
        const looked = await ask(tasks.look);
        check(
          "looks at an image twice: it is described once, and the model reads the description",
          looked && vision.images() === 1 && agent.prompts.some((prompt) => prompt.includes(SEEN)),
        );
      }).finally(() => vision.close());
    }
    if (trained !== undefined) {
      await throughGateway(tap, [...engine, "--trained-tools", "direct"], async () => {
        const answered = await ask(trained);
        for (const { name, passed } of trained.checks(agent.prompts)) {
          check(name, passed && answered);
        }
      });
    }
  } finally {
    await tap.close();
    await gateway.stop();
    await agent.close();
  }
  return {
    checks,
    analysis: agent.analysis(),
    tools: tap.tools(agent.prompts),
    exact: tap.exact(),
    ...(client.notes && { notes: client.notes }),
  };
}

/** Lets the client speak to another gateway for a while. */
async function throughGateway(
  tap: Tap,
  args: readonly string[],
  use: () => Promise<void>,
): Promise<void> {
  const gateway = await startGatewayProcess(args);
  try {
    tap.forwardTo(new URL(gateway.baseURL).origin);
    await use();
  } finally {
    await gateway.stop();
  }
}

function toTasks(project: string, tools: AgentTools) {
  const notes = join(project, "notes.txt");
  const count = (number: number) => tools.shell(`echo ${number} >> count.txt`);
  const shell = tools.shell("").tool;
  const look = tools.look?.(join(project, "shot.png"));
  return {
    write: {
      name: "write",
      ask: "Write notes and copy them.",
      calls: [
        tools.write(notes, "first\n"),
        ...tools.edit(notes, "first", "second"),
        tools.shell("cat notes.txt > copy.txt"),
      ],
      answer: "The notes are written and copied.",
    },
    resume: {
      name: "resume",
      ask: "Change the notes once more.",
      calls: tools.edit(notes, "second", "third"),
      answer: "The notes are changed.",
    },
    count: {
      name: "count",
      ask: "Count to six in count.txt.",
      calls: [
        count(1),
        count(2),
        { ...count(3), header: `<|channel|>analysis to=functions.${shell} code` },
        { ...count(4), header: `<|channel|>commentary to=${shell}<|channel|>commentary json` },
        count(5),
        count(6),
      ],
      answer: "Counted to six.",
    },
    echo: {
      name: "echo",
      ask: "Let the server say something.",
      calls: tools.echo("ping"),
      answer: "The server has said it.",
    },
    look: {
      name: "look",
      ask: "Look at the screenshot.",
      calls: look === undefined ? [] : [look, look],
      answer: "Three tests failed.",
    },
  } satisfies Record<string, Task>;
}
