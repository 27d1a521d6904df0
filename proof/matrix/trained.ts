/**
 * A task in which the model calls the tools of its training (`--trained-tools direct`), in the headers of a real run of
 * gpt-oss-20b, and the expected results: files that the client's own tools have made or read, and results in trained
 * form.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Check } from "./client.ts";
import type { Task, ToolCall } from "./scripted-agent.ts";

/** The trained tools that an agent's tools are mapped to. */
export interface TrainedTask extends Task {
  /** The client's tools by the trained tools shown. */
  readonly mapped: Readonly<Record<string, string>>;
  readonly checks: (prompts: readonly string[]) => Check[];
}

const FILE = "trained.txt";
const READ = "read.txt";
const PATCH = `*** Begin Patch\n*** Update File: ${FILE}\n@@\n-two\n+zwei\n*** End Patch\n`;

interface TrainedCall extends ToolCall {
  readonly trained: string;
  readonly arguments: string;
  readonly header: string;
  /** In its result. */
  readonly shows: RegExp;
}

export function toTrainedTask(project: string, mapped: TrainedTask["mapped"]): TrainedTask {
  const path = join(project, READ);
  writeFileSync(path, "eins\nzwei\ndrei\nvier\n");
  const calls = toCalls(path).filter(({ trained }) => trained in mapped);
  return {
    name: "trained",
    ask: "Look around with what you know.",
    calls,
    answer: "The repository is known.",
    mapped,
    checks: (prompts) => toChecks(prompts, { project, mapped, calls }),
  };
}

/** The header of most of the model's calls. */
function usual(trained: string): string {
  return `<|channel|>analysis to=${trained} code`;
}

function toCalls(path: string): TrainedCall[] {
  const command = `printf 'one\\ntwo\\n' > ${FILE}; echo written; exit 3`;
  const exec = "container.exec";
  return [
    {
      ...named(exec),
      header: usual(exec),
      arguments: `{"command":["bash","-lc",${JSON.stringify(command)}],"timeout":10000}\n`,
      shows: /written/,
    },
    {
      ...named("repo_browser.open_file"),
      header: " to=repo_browser.open_file<|channel|>analysis code",
      arguments: `{"path":${JSON.stringify(path)},"line_start":2,"line_end":3,"line_numbers":true}`,
      shows: /2.*zwei\n.*3.*drei/,
    },
    {
      ...named("repo_browser.open_file"),
      header: usual("repo_browser.open_file"),
      arguments: `{"path":"${READ}","line_start":4}`,
      shows: /4.*vier/,
    },
    {
      ...named("repo_browser.search"),
      header: "<|channel|>repo_browser.search<|channel|>analysis code",
      arguments: '{"path":"","query":"drei", "max_results":20}\n',
      shows: /read\.txt[^]*drei/,
    },
    {
      ...named("repo_browser.list_dir"),
      header: usual("repo_browser.list_dir"),
      arguments: '{"path":""}',
      shows: /trained\.txt/,
    },
    {
      ...named("repo_browser.apply_patch"),
      header: usual("repo_browser.apply_patch"),
      arguments: JSON.stringify({ patch: PATCH }),
      shows: /Success/,
    },
  ];
}

function named(trained: string): { readonly tool: string; readonly trained: string } {
  return { tool: trained, trained };
}

interface Ran {
  readonly project: string;
  readonly mapped: TrainedTask["mapped"];
  readonly calls: readonly TrainedCall[];
}

function toChecks(prompts: readonly string[], { project, mapped, calls }: Ran): Check[] {
  const own = prompts.filter((prompt) => prompt.includes("namespace container {"));
  const last = own.at(-1) ?? "";
  const [system = "", rest = ""] = last.split("<|start|>developer");
  const shown = [...system.matchAll(/^type (\w+) = /gm)].map(([, name]) => name);
  const names = Object.keys(mapped).map((each) => each.split(".")[1]);
  const isPatched = calls.some(({ trained }) => trained === "repo_browser.apply_patch");
  return [
    {
      name: `\`trainedTools: direct\`: shows ${Object.entries(mapped)
        .map(([trained, client]) => `\`${client}\` as \`${trained}\``)
        .join(", ")}, and nothing else in trained form`,
      passed:
        new Set(shown).symmetricDifference(new Set(names)).size === 0 &&
        Object.values(mapped).every((name) => !rest.includes(`type ${name} = `)),
    },
    {
      name: "its own tools do what the model's calls say",
      passed: readFileSync(join(project, FILE), "utf8") === `one\n${isPatched ? "zwei" : "two"}\n`,
    },
    {
      name: "each result is in trained form",
      passed: calls.every(({ trained, shows }) =>
        resultsOf(last, trained).some((text) => shows.test(text)),
      ),
    },
    {
      name: "calls stand in the prompt as the model wrote them",
      passed: calls
        .filter(({ header }) => !/<\|channel\|>\w+\.\w+<\|channel\|>/.test(header))
        .every(({ header, arguments: body }) =>
          last.includes(`<|start|>assistant${header}<|message|>${body}<|call|>`),
        ),
    },
  ];
}

function resultsOf(prompt: string, trained: string): string[] {
  const start = `<|start|>${trained} to=assistant<|channel|>analysis<|message|>`;
  return prompt
    .split(start)
    .slice(1)
    .map((text) => text.slice(0, text.indexOf("<|end|>")));
}
