/**
 * Reads the tools of gpt-oss's training that the client runs itself (`builtin_tools`): they are declared in the system
 * message, calls are returned to the client, and its results are rendered in the form of training.
 */
import type { ToolNamespace } from "../../harmony/conversation.ts";
import { BROWSER_NAMESPACE, PYTHON_NAMESPACE } from "../../harmony/trained-tools.ts";
import type { OfferedTool } from "../../turn/turn.ts";
import { RequestError } from "../errors.ts";
import type { HostedTools } from "../hosted-tools.ts";
import type { ChatRequest } from "./request.ts";

export interface ClientBuiltins {
  /** Namespaces for the system message. */
  readonly namespaces: readonly ToolNamespace[];
  /** The functions by recipient: `python`, `browser.search`. */
  readonly tools: readonly OfferedTool[];
}

/** Call bodies are code, which the client gets as the input of a custom tool. */
export const CODE_TOOL = "python";

/** Throws a {@link RequestError} if the request also declares the tool in another way. */
export function toClientBuiltins(
  { builtin_tools: names, tool_choice: choice }: ChatRequest,
  functions: readonly string[],
  hosted: HostedTools,
): ClientBuiltins {
  if (choice === "none") return { namespaces: [], tools: [] };
  for (const [index, name] of (names ?? []).entries()) {
    const isHosted = hosted.tools.some((tool) => tool.name === name);
    if (!isHosted && !functions.includes(name)) continue;
    const other = isHosted ? "run by the gateway for this request" : "a function of this request";
    const param = `builtin_tools[${index}]`;
    throw new RequestError(`${param}: ${JSON.stringify(name)} is also ${other}`, { param });
  }
  const namespaces = [...new Set(names ?? [])].map((name) => NAMESPACES[name]);
  return { namespaces, tools: namespaces.flatMap((namespace) => toTools(namespace)) };
}

const NAMESPACES = { browser: BROWSER_NAMESPACE, python: PYTHON_NAMESPACE } as const;

function toTools({ name, functions }: ToolNamespace): OfferedTool[] {
  if (functions.length === 0) {
    return [{ name, recipient: name, text: { formats: [] }, strict: false }];
  }
  return functions.map((each) => {
    const recipient = `${name}.${each.name}`;
    return { name: recipient, recipient, strict: false };
  });
}
