import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** Limits for a machine that is busy with something else; no test measures time by them. */
const patience = {
  testTimeout: 300_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 60_000, interval: 20 } },
};

/** Programs that tests start, the gateway above all, compile their modules once and not each time. */
const NODE_COMPILE_CACHE = fileURLToPath(new URL("test/.cache/node", import.meta.url));

/**
 * Files share a process, and with it the modules and the tokenizer's tables, which cost more than most files' tests.
 * So a file must leave nothing behind: no fake timers, no variables, no spied modules.
 */
const isolate = false;

/**
 * Node imports the sources as they are. Vitest's own loader makes a property access of each use of an import, which the tests
 * that compute pay for with a sixth of their time.
 */
const experimental = { viteModuleRunner: false };

const TEMPORARY_FOLDER = "test/helpers/temporary-folder.ts";

/** Tests that take long and seldom break: `npm test` leaves them out, and `.ci/run` runs them. */
const SLOW = [
  // A browser, Python, and other programs that are started for each test.
  "test/browser/**",
  "test/doctor/llama.test.ts",
  "test/node/python/**",
  "test/node/pdf/pdf-process.test.ts",
  "test/node/mcp/hostile-program.test.ts",
  "test/snippets/**",
  // Floods, random input, and steps that are counted.
  "test/chaos/**",
  "test/engines/outside-text.test.ts",
  "test/fuzz/**",
  "test/node/{full-disk,held-bodies,load,socket-flood,unruly-engines,uploads}.test.ts",
  "test/outside-inputs.test.ts",
  "test/tools/browser/hostile-pages.test.ts",
  "test/turn/{sampled,steering}/*.property.test.ts",
  "test/turn/sampling/sample.property.test.ts",
  // Several processes of the gateway, and the built package.
  "test/fresh-clone.test.ts",
  "test/node/{port-sharing,postgres-store,replicas,rolling-restart}.test.ts",
  "test/package.test.ts",
  "test/public-types.test.ts",
  // Tests of the tools in `proof/`.
  "proof/**/*.test.ts",
];

/** Tests that need the bundle. */
const IN_WORKERD = [
  "test/runtime/worker.test.ts",
  "test/store/d1-store.test.ts",
  "test/store/kv-store.test.ts",
];

/** Tests that replace modules of the sources, which only Vitest's own loader lets them do in a process that has loaded them. */
const MOCKING = ["test/tokenizer/lazy.test.ts"];

const ONLY_SLOW = SLOW.filter((path) => !MOCKING.includes(path));
const NODE = {
  isolate,
  experimental,
  globalSetup: [TEMPORARY_FOLDER, "test/helpers/command-folder.ts"],
  env: { NODE_COMPILE_CACHE },
  ...patience,
};

export default defineConfig({
  test: {
    reporters: [
      "default",
      "./test/helpers/skipped-reporter.ts",
      ...(process.env["CI"] ? ["json"] : []),
    ],
    // More workers than cores: files wait for other processes and for timers during a third of their time.
    maxWorkers: Math.ceil(availableParallelism() * 1.5),
    projects: [
      {
        test: {
          name: "node",
          include: ["test/**/*.test.ts"],
          exclude: ["**/node_modules/**", ...IN_WORKERD, ...MOCKING, ...SLOW],
          ...NODE,
        },
      },
      {
        test: {
          name: "slow",
          include: ONLY_SLOW.map((path) => (path.endsWith(".ts") ? path : `${path}/*.test.ts`)),
          exclude: ["**/node_modules/**", ...MOCKING],
          ...NODE,
        },
      },
      { test: { name: "mocking", include: MOCKING, isolate, ...patience } },
      // Tests of the APIs once more, the gateway being the real bundle in the Workers runtime.
      {
        test: {
          name: "workerd",
          include: [
            ...IN_WORKERD,
            "test/api/chat-completions/{reasoning,reasoning-openai,reasoning-shared}.test.ts",
            "test/api/messages/route.test.ts",
            "test/api/responses/{background,reasoning,route,stored}.test.ts",
            "test/clients/*.test.ts",
            "test/never-silently-wrong/restored-reasoning.test.ts",
            "test/runtime/*.test.ts",
          ],
          isolate,
          experimental,
          globalSetup: [TEMPORARY_FOLDER, "test/helpers/bundle-worker.ts"],
          env: { NODE_COMPILE_CACHE, TEST_RUNTIME: "workerd" },
          ...patience,
        },
      },
    ],
  },
});
