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
