/**
 * Runs Python clients against the gateway and writes what it saw to `docs/clients/python.md`.
 *
 *     proof/real/setup-python.sh && node proof/real/python-clients.ts
 *
 * Each script in `python/` works through a task of three calls in front of a scripted model, whose prompts show which
 * reasoning came back, and checks the special features of its client in front of the demo engine.
 */
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Program, runAll, toTable } from "./client-runs.ts";

const ENVIRONMENTS = process.env["PYTHON_ENVIRONMENTS"] ?? join(import.meta.dirname, ".python");
const TABLE = join(import.meta.dirname, "../../docs/clients/python.md");

/** Package on PyPI, script, and task. */
type Client = readonly [name: string, script: string, task?: Program["task"]];

/** By the environment of `setup-python.sh` that has them: the packages need different versions of `openai`. */
const CLIENTS: Readonly<Record<string, readonly Client[]>> = {
  main: [
    ["openai", "openai_chat.py", "walk"],
    ["openai", "openai_responses.py", "walk"],
    ["anthropic", "anthropic_messages.py", "walk"],
    ["openai-agents", "openai_agents.py", "walk"],
    ["langchain-openai", "langchain_openai_agent.py", "walk"],
    ["pydantic-ai-slim", "pydantic_ai_agent.py", "walk"],
    ["instructor", "instructor_client.py"],
  ],
  inspect: [["inspect-ai", "inspect_client.py", "walk"]],
  gptme: [["gptme", "gptme_client.py", "shell"]],
  litellm: [["litellm", "litellm_client.py", "walk"]],
  "llama-index": [["llama-index-llms-openai-like", "llama_index_agent.py", "walk"]],
  aider: [["aider-chat", "aider_client.py"]],
};

const programs = await Promise.all(
  Object.entries(CLIENTS).flatMap(([environment, clients]) =>
    clients.map((client) => toProgram(environment, client)),
  ),
);
const rows = await runAll(programs);
writeFileSync(
  TABLE,
  `# Python clients that were run

Written by \`node proof/real/python-clients.ts\` on ${new Date().toISOString().slice(0, 10)}. Released packages, unmodified. Most take three steps by calling a
tool, in front of a scripted model whose analysis messages are numbered. "Reasoning kept: 6 of 6" means: over all prompts
that reached the engine, the model had written six analysis messages before calls of the current task, and the prompts
contained all six.

${toTable(rows)}
`,
);

async function toProgram(environment: string, [name, script, task]: Client): Promise<Program> {
  const python = join(ENVIRONMENTS, environment, "bin/python");
  const code = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))";
  const { stdout } = await promisify(execFile)(python, ["-c", code, name]);
  return {
    client: `${name} ${stdout.trim()}`,
    script: `python/${script}`,
    command: [python, join(import.meta.dirname, "python", script)],
    ...(task && { task }),
  };
}
