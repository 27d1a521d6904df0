import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { resolveSettings } from "../../src/index.ts";
import { describedSettings, type SettingDescription } from "../../src/config/describe.ts";

function namesOf(isIn: (setting: SettingDescription) => boolean): string {
  return describedSettings()
    .flatMap((each) => (isIn(each) ? each.name : []))
    .join(" ");
}

// A new setting belongs to a class on purpose, or to none.
test("a reload keeps the settings of the listener, the store, browser and python, the log and recorded turns", () => {
  expect(namesOf(({ fixed }) => fixed)).toBe(
    "host port reusePort metricsPort shutdownGraceMs " +
      "builtinTools browserSearch browserSearchUrl browserSearchKey browserSearchFolder browserAllow browserDeny " +
      "pythonRuntime pythonUrl pythonKey denoPath pyodideFolder pythonPackages pythonCache pythonTimeoutMs pythonMemory " +
      "pythonIdleMs maxInterpreters maxInterpretersPerKey " +
      "store storeTimeoutMs storeMaxEntries storeMaxBytes storeMaxEntriesPerKey storeMaxBytesPerKey " +
      "clientIdleTimeoutMs log logFormat auditFile " +
      "inspect inspectKey inspectMaxBytes inspectMaxAgeSeconds recordContent capture captureMaxBytes",
  );
});

test("a program that embeds the gateway has the server's settings itself", () => {
  expect(namesOf(({ ofServer }) => ofServer)).toBe(
    "host port reusePort metricsPort store auditFile",
  );
});

test("a key may have its own value of each setting that says so", () => {
  const perKey = namesOf((each) => each.perKey);
  expect(perKey).toBe(
    "nameShield reasoningPolicy reasoningContentMirror reasoningEvents trainedTools maxBuiltinCallsPerKey " +
      "storeMaxEntriesPerKey storeMaxBytesPerKey maxQueuedPerKey maxConcurrentPerKey maxBackgroundPerKey maxSocketsPerKey",
  );
  const own = {
    nameShield: "on",
    reasoningPolicy: "none",
    reasoningContentMirror: false,
    reasoningEvents: "reasoning",
    trainedTools: "direct",
    maxBuiltinCallsPerKey: 1,
    storeMaxEntriesPerKey: 2,
    storeMaxBytesPerKey: 3,
    maxQueuedPerKey: 0,
    maxConcurrentPerKey: 4,
    maxBackgroundPerKey: 5,
    maxSocketsPerKey: 6,
  };
  expect(Object.keys(own).join(" ")).toBe(perKey);
  const key = { name: "k", sha256: "0".repeat(64), ...own };
  const { keys } = resolveSettings([{ name: "keys", value: [key], source: "--keys" }], {
    public: false,
  });
  expect(keys).toEqual([key]);
});

test("every setting is described by a sentence", () => {
  for (const setting of describedSettings()) expect(setting.description).toMatch(/^[\w`].+\.$/);
});

const SOURCES = join(import.meta.dirname, "../../src");

/** Files that need Node, or only define and check settings. */
const NOT_PORTABLE = /^(?:node\.ts|node\/|config\/|inspect\/page\/)/;

/** The portable code, without comments. */
const portable = readdirSync(SOURCES, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts") && !NOT_PORTABLE.test(file))
  .map((file) => readFileSync(join(SOURCES, file), "utf8"))
  .join("\n")
  .replaceAll(/\/\*.*?\*\/|\/\/.*?$/gms, "");

/** Workers log as JSON in any case. */
const WITHOUT_LOSS: ReadonlySet<string> = new Set(["logFormat"]);

test("a setting that no portable code reads is marked as of Node only", () => {
  const unread = describedSettings()
    .filter(({ name }) => !new RegExp(String.raw`\b${name}\b`).test(portable))
    .filter(({ name, nodeOnly }) => !nodeOnly && !WITHOUT_LOSS.has(name));
  expect(unread.map(({ name }) => name)).toEqual([]);
});

test("no portable code reads a setting of Node only", () => {
  const read = describedSettings()
    .filter(({ nodeOnly }) => nodeOnly)
    .filter(({ name }) => new RegExp(String.raw`settings\.${name}\b`).test(portable));
  expect(read.map(({ name }) => name)).toEqual([]);
});
