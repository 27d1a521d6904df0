/**
 * Reads the trained tools that the client runs itself (`builtin_tools`): they are declared in the system message, calls
 * are returned to the client, and its results are rendered in the form of training.
 */
import type { ToolNamespace } from "../../harmony/conversation.ts";
import {
  BROWSER_NAMESPACE,
  PYTHON_NAMESPACE,
  type TrainedTool,
} from "../../harmony/trained-tools.ts";
import type { OfferedTool } from "../../turn/turn.ts";
import { refusal } from "../errors.ts";
import type { HostedTools } from "./hosted-tools.ts";

export interface ClientTrainedTools {
  /** Namespaces for the system message. */
  readonly namespaces: readonly ToolNamespace[];
  /** The functions by recipient: `python`, `browser.search`. */
  readonly tools: readonly OfferedTool[];
}

export const NO_CLIENT_TRAINED_TOOLS: ClientTrainedTools = { namespaces: [], tools: [] };

/** The tool whose call bodies are code, sent to the client as the input of a custom tool. */
export const CODE_TOOL = "python";

/** The fields of a request that concern trained tools. */
export interface ClientTrainedToolsRequest {
  readonly names: readonly TrainedTool[] | null | undefined;
  /** Whether `tool_choice` is `none`. */
  readonly isNone: boolean;
  /** Names of the client's other tools. */
  readonly functions: readonly string[];
  readonly hosted: HostedTools;
}

/** Throws a {@link RequestError} if the request also declares the tool in another form. */
export function toClientTrainedTools({
  names,
  isNone,
  functions,
  hosted,
}: ClientTrainedToolsRequest): ClientTrainedTools {
  if (isNone) return NO_CLIENT_TRAINED_TOOLS;
  for (const [index, name] of (names ?? []).entries()) {
    const isHosted = hosted.tools.some((tool) => tool.name === name);
    const isTaken = functions.some((each) => each === name || each.startsWith(`${name}.`));
    if (!isHosted && !isTaken) continue;
    const other = isHosted ? "run by the gateway for this request" : "a tool of this request";
    const param = `builtin_tools[${index}]`;
    throw refusal(param, `${JSON.stringify(name)} is also ${other}`);
  }
  const namespaces = [...new Set(names ?? [])].map((name) => NAMESPACES[name]);
  return { namespaces, tools: namespaces.flatMap((namespace) => toTools(namespace)) };
}

/** Whether a call to this recipient belongs to one of the namespaces. */
export function isTrainedCall(namespaces: readonly ToolNamespace[], recipient: string): boolean {
  return namespaces.some(({ name }) => recipient === name || recipient.startsWith(`${name}.`));
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
