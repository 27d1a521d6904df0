/** Settings that require the command on Node. Elsewhere they have no effect, and each is reported by name. */
import { toBackends } from "./backends.ts";
import { describedSettings } from "./describe.ts";
import type { SettingInput } from "./setting-input.ts";
import type { Settings } from "./settings.ts";

/** The other settings, and a sentence for each setting that is left out. */
export function leaveOutNodeOnly(inputs: readonly SettingInput[]): {
  readonly inputs: readonly SettingInput[];
  readonly warnings: readonly string[];
} {
  const nodeOnly = new Set(describedSettings().flatMap((each) => (each.nodeOnly ? each.name : [])));
  return {
    inputs: inputs.filter(({ name }) => !nodeOnly.has(name)),
    warnings: inputs
      .filter(({ name }) => nodeOnly.has(name))
      .map(({ source }) => `${source}: is available on Node only, and has no effect here.`),
  };
}

/** Values that require Node, of settings with other values. */
export function nodeOnlyValues(settings: Settings): string[] {
  const { builtinTools, pythonRuntime } = settings;
  return [
    ...(builtinTools.includes("python") && pythonRuntime !== "http"
      ? [
          `pythonRuntime ${pythonRuntime}: is available on Node only, so the tool python does not run here, and answers to requests ` +
            "for it name it as skipped. Use pythonRuntime http.",
        ]
      : []),
    ...(toBackends(settings).some(({ engine }) => engine === "llama")
      ? ["engine llama: is available on Node only, so its models do not answer here. Use a server."]
      : []),
  ];
}
