/** Quick checks of the blocks of the pages. `node scripts/docs-check.ts` runs them. */
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  findPages,
  readFences,
  reasonNotToRun,
  toCommands,
  toFences,
} from "../../scripts/docs/fences.ts";
import { readCommand } from "../../scripts/docs/read-command.ts";
import { isRunnable, runPage } from "../../scripts/docs/run-page.ts";
import { SNIPPET_CHECKS } from "../../scripts/docs/snippets.ts";
import { checkStatically } from "../../scripts/docs/static-check.ts";

const ROOT = join(import.meta.dirname, "../..");
const FENCES = findPages(ROOT).flatMap((page) => readFences(ROOT, page));
const COMMANDS = FENCES.filter(({ language }) => language === "sh").flatMap((fence) =>
  toCommands(fence).map((command) => ({ where: `${fence.page}:${fence.line}`, command })),
);

test("there are commands in README and docs", () => {
  expect(COMMANDS.length).toBeGreaterThan(30);
  expect(COMMANDS.map(({ command }) => command)).toContain("npm start");
});

test.each(COMMANDS)("$where $command", async ({ command }) => {
  expect(await checkStatically(ROOT, command)).toBeUndefined();
});

test("every command can be run, or its block says why not", () => {
  const without = FENCES.filter(({ language }) => language === "sh").flatMap((fence) =>
    toCommands(fence).filter(
      (command) => !isRunnable(command) && reasonNotToRun(fence, command) === undefined,
    ),
  );
  expect(without).toEqual([]);
});

test("every block is checked by something, or says why not", () => {
  const checked = new Set(["sh", "ts", ...Object.keys(SNIPPET_CHECKS)]);
  const without = FENCES.filter(
    (fence) =>
      !checked.has(fence.language) &&
      reasonNotToRun(fence) === undefined &&
      !fence.notes.some(({ kind }) => kind === "output"),
  );
  expect(without.map(({ page, line }) => `${page}:${line}`)).toEqual([]);
});

const PAGE = `# Title

<!-- not run, vllm: needs a GPU -->
<!-- with: declare const x: number; -->

\`\`\`sh
vllm serve x   # a comment
curl http://127.0.0.1:8787/health \\
  -d '{
    "a": 1}' && echo
harmony-gateway && harmony-gateway key alice
\`\`\`
`;

describe("a page", () => {
  const [fence] = toFences("x.md", PAGE);

  test("is read as blocks with their notes", () => {
    expect(fence).toMatchObject({ page: "x.md", line: 6, language: "sh" });
    expect(fence?.notes).toEqual([
      { kind: "not run", prefix: "vllm", text: "needs a GPU" },
      { kind: "with", prefix: "", text: "declare const x: number;" },
    ]);
  });

  test("a comment that is not directly above a block is not a note", () => {
    const [other] = toFences("x.md", "<!-- not run: x -->\n\nText.\n\n```json\n{}\n```\n");
    expect(other?.notes).toEqual([]);
  });

  test("blocks are split into commands, and a note applies to those that begin with its words", () => {
    const commands = fence === undefined ? [] : toCommands(fence);
    expect(commands).toEqual([
      "vllm serve x",
      `curl http://127.0.0.1:8787/health -d '{ "a": 1}' && echo`,
      "harmony-gateway",
      "harmony-gateway key alice",
    ]);
    expect(commands.map((command) => fence && reasonNotToRun(fence, command))).toEqual([
      "needs a GPU",
      undefined,
      undefined,
      undefined,
    ]);
  });
});

test.each([
  ["npm start", "serve", []],
  ["npm start -- --url http://a", "serve", ["--url", "http://a"]],
  ["npx harmony-gateway serve --port 1", "serve", ["--port", "1"]],
  ["harmony-gateway key alice", "gateway", ["key", "alice"]],
  ["npm run fuzz", "other", []],
])("%s is read as %s", (command, kind, args) => {
  expect(readCommand(command)).toMatchObject({ kind, args });
});

test.each([
  ["harmony-gateway --prot 1", "--prot: there is no such flag. Did you mean --port?"],
  ["harmony-gateway", undefined],
  ["npm run no-such-script", "there is no script no-such-script"],
  ["node examples/none.ts", "there is no examples/none.ts"],
])("without running %s, the check reports: %s", async (command, problem) => {
  expect(await checkStatically(ROOT, command)).toBe(problem);
});

describe("running a page", () => {
  const run = (text: string) => runPage(ROOT, toFences("x.md", text));

  test("a request is sent to the gateway that the page starts, and its answer is checked", async () => {
    const ask = (body: string) =>
      `curl http://127.0.0.1:8787/v1/chat/completions -d '${JSON.stringify({ messages: body })}'`;
    const reports = await run(
      `\`\`\`sh\nharmony-gateway\n${ask("wrong")}\ncurl http://127.0.0.1:8787/v1/models\n\`\`\``,
    );
    expect(reports.map(({ outcome }) => outcome.kind)).toEqual(["ok", "wrong", "ok"]);
  });

  test("failures are reported", async () => {
    const reports = await run(
      [
        "```sh\nharmony-gateway render none.json\nnpm ci\nharmony-gateway --prot 1\n```",
        "```sh\ncurl http://127.0.0.1:8787/health\n```",
        "```json\n{,}\n```",
        "```yaml\na: [\n```",
        "```js\nconst = 1;\n```",
        "```nginx\nlocation;\n```",
        "<!-- output: node examples/tokenizer.ts -->\n\n```text\nnothing\n```",
        "<!-- not run: no reason -->\n\n```sh\nharmony-gateway --prot 1\n```",
      ].join("\n\n"),
    );
    expect(reports.map(({ outcome }) => outcome.kind)).toEqual(reports.map(() => "wrong"));
    expect(reports).toHaveLength(10);
  });
});
