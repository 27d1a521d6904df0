/**
 * Runs Python clients against the gateway and writes what it saw to `docs/clients/python.md`.
 *
 *     proof/real/setup-python.sh && node proof/real/python-clients.ts
 *
 * Each script in `python/` works through a task of three calls in front of a scripted model, whose prompts show which
 * reasoning came back, and checks the special features of its client in front of the demo engine.
 */
import { execFile } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { startScriptedAgent, type Task, type AnalysisCount } from "../matrix/scripted-agent.ts";
import { startGatewayProcess } from "../../test/helpers/gateway-process.ts";

interface PythonClient {
  /** Its package on PyPI. */
  readonly package: string;
  readonly script: string;
  /** The environment of `setup-python.sh` that has it: the packages need different versions of `openai`. */
  readonly environment: "main" | "llama-index" | "litellm" | "aider" | "inspect" | "gptme";
  /** What it works through in front of the scripted model. Absent: it calls no tools. */
  readonly task?: "walk" | "shell";
}

const loop = { environment: "main", task: "walk" } as const;
const CLIENTS: readonly PythonClient[] = [
  { ...loop, package: "openai", script: "openai_chat.py" },
  { ...loop, package: "openai", script: "openai_responses.py" },
  { ...loop, package: "anthropic", script: "anthropic_messages.py" },
  { ...loop, package: "openai-agents", script: "openai_agents.py" },
  { ...loop, package: "langchain-openai", script: "langchain_openai_agent.py" },
  { ...loop, package: "pydantic-ai-slim", script: "pydantic_ai_agent.py" },
  { package: "instructor", script: "instructor_client.py", environment: "main" },
  { ...loop, package: "inspect-ai", script: "inspect_client.py", environment: "inspect" },
  { package: "gptme", script: "gptme_client.py", environment: "gptme", task: "shell" },
  { ...loop, package: "litellm", script: "litellm_client.py", environment: "litellm" },
  {
    ...loop,
    package: "llama-index-llms-openai-like",
    script: "llama_index_agent.py",
    environment: "llama-index",
  },
  { package: "aider-chat", script: "aider_client.py", environment: "aider" },
];

const PYTHON = join(import.meta.dirname, "python");
const ENVIRONMENTS = process.env["PYTHON_ENVIRONMENTS"] ?? join(import.meta.dirname, ".python");
const TABLE = join(import.meta.dirname, "../../docs/clients/python.md");

const TASK: Task = {
  name: "walk",
  ask: "Take three steps.",
  calls: [1, 2, 3].map((n) => ({ tool: "step", arguments: { n } })),
  answer: "Three steps taken.",
};

/** For clients whose tools are their own. The last call ends the session. */
const SHELL: Task = {
  name: "shell",
  ask: "Write down three steps.",
  calls: [
    ...[1, 2, 3].map((n) => ({ tool: "shell", arguments: { command: `echo ${n} >> steps.txt` } })),
    { tool: "complete", arguments: {} },
  ],
  answer: "Three steps written.",
};

/** For clients that edit files from the model's text, without tools. */
const EDIT: Task = {
  name: "edit",
  ask: "Write a greeting.",
  calls: [],
  answer: "greeting.txt\n```\nhello\n```\n",
};

const output = z.object({
  answer: z.string(),
  steps: z.array(z.int()),
  checks: z.record(z.string(), z.boolean()),
});

interface Row {
  readonly client: PythonClient;
  readonly version: string;
  readonly analysis: AnalysisCount;
  readonly failures: readonly string[];
  readonly passed: readonly string[];
}

const demo = await startGatewayProcess([]);
const rows: Row[] = [];
try {
  for (const client of CLIENTS) {
    const row = await run(client);
    console.log(row.client.script, row.version, row.analysis, ...row.failures);
    rows.push(row);
  }
} finally {
  await demo.stop();
}
if (rows.some(({ failures }) => failures.length > 0)) process.exitCode = 1;
writeFileSync(TABLE, toPage(rows));

async function run(client: PythonClient): Promise<Row> {
  const python = join(ENVIRONMENTS, client.environment, "bin/python");
  const row = { client, version: "", analysis: { kept: 0, had: 0 }, passed: [] };
  if (!existsSync(python)) return { ...row, failures: ["not installed"] };
  const version = await versionOf(python, client.package);
  const agent = await startScriptedAgent([TASK, SHELL, EDIT]);
  const gateway = await startGatewayProcess(["--engine", "vllm", "--url", agent.url]);
  try {
    const { stdout } = await promisify(execFile)(python, [join(PYTHON, client.script)], {
      env: {
        PATH: process.env["PATH"],
        HOME: process.env["HOME"],
        AGENT_URL: gateway.baseURL,
        DEMO_URL: demo.baseURL,
        TASK: TASK.ask,
        SHELL_TASK: SHELL.ask,
        EDIT: EDIT.ask,
      },
      timeout: 300_000,
    });
    const { answer, steps, checks } = output.parse(
      JSON.parse(stdout.trim().split("\n").at(-1) ?? ""),
    );
    const analysis = agent.analysis();
    const all: Record<string, boolean> = {
      ...(client.task === "walk" && {
        "three calls and the answer": answer === TASK.answer && steps.join() === "1,2,3",
      }),
      ...(client.task && {
        "all reasoning in every prompt": analysis.had > 0 && analysis.kept === analysis.had,
      }),
      ...checks,
    };
    return {
      ...row,
      version,
      analysis,
      passed: Object.keys(all).filter((name) => all[name] === true),
      failures: Object.keys(all).filter((name) => all[name] !== true),
    };
  } catch (error) {
    const { stderr = "" } = z.object({ stderr: z.string().optional() }).parse(error);
    console.error(stderr || error);
    return { ...row, version, analysis: agent.analysis(), failures: ["the script failed"] };
  } finally {
    await gateway.stop();
    await agent.close();
  }
}

async function versionOf(python: string, name: string): Promise<string> {
  const code = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))";
  const { stdout } = await promisify(execFile)(python, ["-c", code, name]);
  return stdout.trim();
}

function toPage(all: readonly Row[]): string {
  const lines = all.map(({ client, version, analysis, passed, failures }) => {
    const kept = client.task ? `${analysis.kept} of ${analysis.had}` : "–";
    const checks = [...passed, ...failures.map((name) => `**failed**: ${name}`)].join("; ");
    const link = `[${client.script}](../../proof/real/python/${client.script})`;
    return `| ${client.package} ${version} | ${link} | ${kept} | ${checks} |`;
  });
  return `# Python clients that were run

Written by \`node proof/real/python-clients.ts\` on ${new Date().toISOString().slice(0, 10)}. Released packages, unmodified. Most take three steps by calling a
tool, in front of a scripted model whose analysis messages are numbered. "Reasoning kept: 6 of 6" means: over all prompts
that reached the engine, the model had written six analysis messages before calls of the current task, and the prompts
contained all six.

| client | script | reasoning kept | seen |
| --- | --- | --- | --- |
${lines.join("\n")}
`;
}
