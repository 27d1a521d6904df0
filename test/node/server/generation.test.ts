/** The list in docs/architecture.md of what a generation makes anew, which a reload therefore forgets. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../../..");
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

/** Where a generation is made: the files, and what begins and ends each part of them. */
const MAKERS: readonly (readonly [string, RegExp])[] = [
  ["src/node/server/generations.ts", /this\.#current = create.*/],
  ["src/node/server/generation.ts", /export function createGeneration.*?\n\}/s],
  ["src/gateway.ts", /export function assemble.*?\n\}/s],
  ["src/app.ts", /export function prepareApp.*?\n\}/s],
  ["src/app.ts", /function createServices.*?\n\}/s],
  ["src/store/reasoning.ts", /export function watchStore.*?\n\}/s],
  ["src/store/reasoning.ts", /export function createCipher.*?\n\}/s],
  ["src/models/backends.ts", /function toPool.*?\n\}/s],
  ["src/engines/pool.ts", /new Backend\(.*/],
  ["src/api/media/open-media.ts", /export function createOpenMedia.*?\nfunction toEntryDeps/s],
  ["src/api/responses/api.ts", /routes\(services\).*?\n  \}/s],
  ["src/api/responses/context.ts", /export function createResponsesContext.*?\n\}/s],
  ["src/api/responses/conversations.ts", /export function createConversationStore.*?\n\}/s],
  ["src/api/responses/background.ts", /constructor\(.*?\n  \}/s],
  ["src/node/mcp/open-mcp.ts", /export function openMcp.*?\n\}/s],
];

/** Made with a default where no process gives one, for one request, or without memory. */
const NOT_KEPT = new Set(
  (
    "AbortController ProcessState Response Set Map PoolLoad HeldBytes Uint8Array " +
    "createRegistry createShutdown createFetchTransport createResponsesContext openIn"
  ).split(" "),
);

test("it names everything that the code makes anew, and nothing else", () => {
  const made = MAKERS.flatMap(([path, part]) => {
    const [text = ""] = part.exec(read(path)) ?? [];
    expect(text, `${path} has its part`).not.toBe("");
    const code = text.replaceAll(/\/\*.*?\*\/|\/\/[^\n]*/gs, "");
    const calls = code.matchAll(
      /\b(?:new )?((?<=new )\w+|(?:create|open)[A-Z]\w*|assemble|prepareApp)\(/g,
    );
    return [...calls].map(([, name = ""]) => name);
  });
  const section =
    read("docs/architecture.md").split("## Settings and state")[1]?.split("\n## ")[0] ?? "";
  const rows = section.split("\n").filter((line) => line.startsWith("| `"));
  const listed = rows.flatMap((row) =>
    [...(row.split("|")[1] ?? "").matchAll(/`(\w+)`/g)].map(([, name]) => name),
  );
  const sorted = (names: Iterable<string | undefined>) =>
    [...new Set(names)].map(String).toSorted((a, b) => (a < b ? -1 : 1));
  expect(sorted(listed)).toEqual(sorted(made.filter((name) => !NOT_KEPT.has(name))));
});
