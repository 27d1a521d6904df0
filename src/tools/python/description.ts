/**
 * The description of the `python` tool for the model: the text from training, corrected where it would be wrong about
 * network, packages or time.
 */
import type { ToolNamespace } from "../../harmony/conversation.ts";
import type { PythonRuntime } from "./runtime.ts";

/** From the harmony library (`stateful`, the tool of training) and from gpt-oss's Docker tool (`stateless`). */
export const TRAINED_DESCRIPTIONS = {
  stateful: `\
Use this tool to execute Python code in your chain of thought. The code will not be shown to the user. This tool should be used for internal reasoning, but not for code that is intended to be visible to the user (e.g. when creating plots, tables, or files).

When you send a message containing Python code to python, it will be executed in a stateful Jupyter notebook environment. python will respond with the output of the execution or time out after 120.0 seconds. The drive at '/mnt/data' can be used to save and persist user files. Internet access for this session is UNKNOWN. Depends on the cluster.`,
  stateless: `\
Use this tool to execute STATELESS Python code in your chain of thought. The code will not be shown to the user. This tool should be used for internal reasoning, but not for code that is intended to be visible to the user (e.g. when creating plots, tables, or files).
When you send a message containing python code to python, it will be executed in a stateless docker container, and the stdout of that process will be returned to you. You have to use print statements to access the output.

IMPORTANT: Your python environment is not shared between calls. You will have to pass your entire code each time.`,
} as const;

/** Without functions: the model sends bare code to `python`. */
export function toPythonNamespace(runtime: PythonRuntime): ToolNamespace {
  return { key: "python", name: "python", description: describePython(runtime), functions: [] };
}

function describePython(runtime: PythonRuntime): string {
  const packages = packagesSentence(runtime.packages);
  if (!runtime.stateful) return joinSentences(TRAINED_DESCRIPTIONS.stateless, packages);
  const seconds = (runtime.timeoutMs / 1000).toFixed(1);
  const timed = TRAINED_DESCRIPTIONS.stateful.replace("120.0 seconds", `${seconds} seconds`);
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
