/** Bundles the command, for the package (`bundle.ts`) and for tests that start it. */
import type { BuildOptions } from "esbuild";
import manifest from "../package.json" with { type: "json" };

export const COMMAND_BUNDLE = {
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node22",
  // The API of OpenTelemetry has to be the one that its SDK finds.
  external: [
    ...Object.keys(manifest.peerDependencies),
    "@opentelemetry/api",
    "bufferutil",
    "utf-8-validate",
  ],
  // For packages in CommonJS.
  banner: {
    js: 'import { createRequire as toRequire } from "node:module";\nconst require = toRequire(import.meta.url);',
  },
  logLevel: "warning",
} satisfies BuildOptions;
