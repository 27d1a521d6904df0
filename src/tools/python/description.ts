/**
 * The description of the `python` tool for the model: the text from training, corrected if it would be wrong about
 * network, packages or time.
 */
import type { ToolNamespace } from "../../harmony/conversation.ts";
import { PYTHON_DESCRIPTIONS } from "../../harmony/trained-tools.ts";
import type { PythonRuntime } from "./runtime.ts";

/** The namespace of `python`, without functions: the model sends bare code. */
export function toPythonNamespace(runtime: PythonRuntime): ToolNamespace {
  return { key: "python", name: "python", description: describePython(runtime), functions: [] };
}

function describePython(runtime: PythonRuntime): string {
  const packages = packagesSentence(runtime.packages);
  if (!runtime.stateful) return joinSentences(PYTHON_DESCRIPTIONS.stateless, packages);
  const seconds = (runtime.timeoutMs / 1000).toFixed(1);
  const timed = PYTHON_DESCRIPTIONS.stateful.replace("120.0 seconds", `${seconds} seconds`);
  const network =
    runtime.network === "none"
      ? timed.replace("UNKNOWN. Depends on the cluster.", "disabled.")
      : timed;
  return joinSentences(network, packages);
}

function packagesSentence(packages: readonly string[] | undefined): string {
  if (packages === undefined) return "";
  if (packages.length === 0) {
    return "Only the Python standard library is available. Packages cannot be installed.";
  }
  return `Besides the Python standard library these packages can be imported: ${packages.join(", ")}. Others cannot be installed.`;
}

function joinSentences(text: string, sentence: string): string {
  return sentence === "" ? text : `${text} ${sentence}`;
}
