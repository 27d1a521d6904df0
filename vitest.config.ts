import { defineConfig } from "vitest/config";

/** Limits for a machine that is busy with something else; no test measures time by them. */
const patience = {
  testTimeout: 60_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: 20_000, interval: 20 } },
};

export default defineConfig({
  test: {
    reporters: process.env["CI"] ? ["default", "json"] : ["default"],
    // By default Vitest leaves a core unused: half of a machine that has two.
    maxWorkers: "100%",
    projects: [
      { test: { name: "node", include: ["test/**/*.test.ts"], ...patience } },
      // Tests of the APIs once more, the gateway being the real bundle in the Workers runtime.
      {
        test: {
          name: "workerd",
          include: [
            "test/api/chat-completions/{reasoning,reasoning-openai,reasoning-shared}.test.ts",
            "test/api/responses/{background,reasoning,route,stored}.test.ts",
            "test/clients/*.test.ts",
            "test/runtime/{leaving,requests}.test.ts",
          ],
          globalSetup: "test/helpers/bundle-worker.ts",
          env: { TEST_RUNTIME: "workerd" },
          ...patience,
        },
      },
    ],
  },
});
