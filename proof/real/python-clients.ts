/**
 * Runs Python clients against the gateway and writes the results to `docs/evidence/python.md`.
 *
 *     proof/real/setup-python.sh && node proof/real/python-clients.ts
 *     node proof/real/python-clients.ts python/gptme_client.py    # only this; the results of the others stay
 *
 * Each script in `python/` works through a task of three calls in front of a scripted model, whose prompts show which
 * reasoning came back, and checks the special features of its client in front of the demo engine.
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { parseArgs, promisify } from "node:util";
import { toTable } from "./client-results.ts";
import { choose, type Program, runAll } from "./client-runs.ts";
import { writeFormatted } from "../../scripts/write-formatted.ts";

const ENVIRONMENTS = process.env["PYTHON_ENVIRONMENTS"] ?? join(import.meta.dirname, ".python");

interface Client {
  /** Its environment: the packages need different versions of `openai`. */
  readonly environment: string;
  /** Its package on PyPI. */
  readonly name: string;
  readonly script: string;
  readonly task?: Program["task"];
}

const CLIENTS: readonly Client[] = [
  client("main", "openai", "openai_chat.py", "walk"),
  client("main", "openai", "openai_responses.py", "walk"),
  client("main", "anthropic", "anthropic_messages.py", "walk"),
  client("main", "openai-agents", "openai_agents.py", "walk"),
  client("main", "langchain-openai", "langchain_openai_agent.py", "walk"),
  client("main", "pydantic-ai-slim", "pydantic_ai_agent.py", "walk"),
  client("main", "instructor", "instructor_client.py"),
  client("inspect", "inspect-ai", "inspect_client.py", "walk"),
  client("gptme", "gptme", "gptme_client.py", "shell"),
  client("litellm", "litellm", "litellm_client.py", "walk"),
  client("llama-index", "llama-index-llms-openai-like", "llama_index_agent.py", "walk"),
  client("aider", "aider-chat", "aider_client.py"),
];

const { positionals } = parseArgs({ allowPositionals: true });
await runAll(await Promise.all(choose(CLIENTS, positionals).map((each) => toProgram(each))));
writeFormatted(
  "docs/evidence/python.md",
  `# Python clients that were run

Written by \`node proof/real/python-clients.ts\`. Released packages, unmodified. Most take three steps by calling a
tool, in front of a scripted model whose analysis messages are numbered. "Reasoning kept: 6 of 6" means: over all prompts
that reached the engine, the model had written six analysis messages before calls of the current task, and the prompts
contained all six.

${toTable(CLIENTS.map(({ script }) => script))}
`,
);

function client(environment: string, name: string, file: string, task?: Program["task"]): Client {
  return { environment, name, script: `python/${file}`, ...(task && { task }) };
}

async function toProgram({ environment, name, script, task }: Client): Promise<Program> {
  const python = join(ENVIRONMENTS, environment, "bin/python");
  const code = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))";
  const { stdout } = await promisify(execFile)(python, ["-c", code, name]);
  return {
    client: `${name} ${stdout.trim()}`,
    script,
    command: [python, join(import.meta.dirname, script)],
    ...(task && { task }),
  };
}
