/** Reads `tool_choice` for the client's tools and the tools that the gateway runs. */
import { qualifiedName } from "../../harmony/tool-names.ts";
import { type HostedTools, hostedKindOf, unsupportedTool } from "../tools/hosted-tools.ts";
import type { NamedTool, RequestedChoice } from "../request/offered-functions.ts";
import type { PromptRequest } from "./request.ts";
import { type Unsupported } from "./history-item.ts";
import { refusal } from "../errors.ts";

export function requestedChoice(
  request: PromptRequest,
  unsupported: Unsupported,
  hosted: HostedTools,
): RequestedChoice {
  const choice = request.tool_choice;
  if (choice === undefined || choice === null) return { type: "auto" };
  if (choice === "auto" || choice === "none") return { type: choice };
  if (choice === "required") return { type: "required", param: "tool_choice" };
  switch (choice.type) {
    case "function":
    case "custom":
      return {
        type: "named",
        tool: {
          name: qualifiedName(choice.namespace ?? undefined, choice.name),
          param: "tool_choice.name",
        },
      };
    case "allowed_tools": {
      const tools = choice.tools.flatMap((tool, index) =>
        CHOOSABLE.has(tool.type) ||
        (unsupported.kinds === "refuse" && !isOffered(tool.type, hosted))
          ? [toAllowedTool(tool, `tool_choice.tools[${index}]`)]
          : [],
      );
      if (choice.mode === "none") return { type: "none" };
      // All allowed tools were left out, so no call is possible.
      if (tools.length === 0 && (choice.mode === "auto" || hosted.tools.length > 0)) {
        return { type: "none" };
      }
      if (tools.length === 0) {
        throw refusal(
          "tool_choice.tools",
          "a call is required but none of these tools is supported",
        );
      }
      return { type: "allowed", mode: choice.mode, tools };
    }
    case "hosted":
      throw unsupportedTool(choice.kind, "tool_choice.type");
    default:
      return choice satisfies never;
  }
}

const CHOOSABLE: ReadonlySet<string> = new Set(["function", "custom"]);

function isOffered(type: string, { tools, functions }: HostedTools): boolean {
  if (type === "mcp") return functions.length > 0;
  return tools.some(({ name }) => name === hostedKindOf(type));
}

interface AllowedTool {
  readonly type: string;
  readonly name?: string | null | undefined;
  readonly namespace?: string | null | undefined;
}

function toAllowedTool({ type, name, namespace }: AllowedTool, param: string): NamedTool {
  if (name != null) {
    return { name: qualifiedName(namespace ?? undefined, name), param: `${param}.name` };
  }
  if (CHOOSABLE.has(type)) {
    throw refusal(`${param}.name`, "must be the name of a tool, but it is missing");
  }
  throw unsupportedTool(type, `${param}.type`);
}
