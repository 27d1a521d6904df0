/** Reads the functions and MCP servers that a chat request offers, and its `tool_choice`. */
import { fromPlainJson, type Json } from "../../harmony/json.ts";
import { refusal } from "../errors.ts";
import {
  type NamedTool,
  type OfferedFunction,
  refuseDuplicates,
  type RequestedChoice,
  toOfferedFunction,
} from "../request/offered-functions.ts";
import { jsonAt, readOrdered, type RequestText } from "../request/ordered-json.ts";
import { findToolSearch } from "../tools/tool-search.ts";
import { toDeclarations } from "../tools/hosted-tools.ts";
import { openServersOrRefuse } from "../tools/mcp-servers.ts";
import type { GatewayTool } from "../../tools/gateway-tool.ts";
import type { RequestMedia } from "../media/request-media.ts";
import type { RequestedPrompt, TurnContext } from "../turn/assemble-turn.ts";
import type { ChatRequest } from "./request.ts";

/** The field that carries a custom tool's free text: the model sees a function with one string parameter. */
export const CUSTOM_INPUT = "input";

const PLAIN_CUSTOM_PARAMETERS = {
  type: "object",
  properties: { [CUSTOM_INPUT]: { type: "string" } },
  required: [CUSTOM_INPUT],
  additionalProperties: false,
};
const CUSTOM_PARAMETERS: Json = fromPlainJson(PLAIN_CUSTOM_PARAMETERS);

export function* toFunctions(
  request: ChatRequest,
  { bodyText, tenant }: RequestText,
): Generator<void, Pick<RequestedPrompt, "search"> & OfferedFunctions> {
  const schemas = readOrdered(bodyText, "tools", request.tools, tenant);
  yield;
  const legacySchemas = readOrdered(bodyText, "functions", request.functions, tenant);
  const search = findToolSearch(request.tools);
  const deferred: OfferedFunction[] = [];
  const functions = [
    ...(request.tools ?? []).flatMap((tool, index) => {
      if (tool.type === "hosted") return [];
      if (tool.type === "function") {
        const each = toOfferedFunction(
          tool.function,
          jsonAt(schemas, [index, "function", "parameters"]),
          `tools[${index}].function.parameters`,
        );
        if (search === undefined || !tool.defer_loading) return each;
        deferred.push(each);
        return [];
      }
      const { name, description } = tool.custom;
      const parameters = PLAIN_CUSTOM_PARAMETERS;
      const definition = { name, description, strict: true, parameters };
      return toOfferedFunction(definition, CUSTOM_PARAMETERS, `tools[${index}].custom`);
    }),
    ...(request.functions ?? []).map((each, index) =>
      toOfferedFunction(
        each,
        jsonAt(legacySchemas, [index, "parameters"]),
        `functions[${index}].parameters`,
      ),
    ),
  ];
  refuseDuplicates([...functions, ...deferred]);
  return { functions, deferred, search };
}

interface OfferedFunctions {
  readonly functions: readonly OfferedFunction[];
  readonly deferred: readonly OfferedFunction[];
}

export function requestedChoice(request: ChatRequest): RequestedChoice {
  const { param, choice } =
    request.tool_choice != null
      ? { param: "tool_choice", choice: request.tool_choice }
      : { param: "function_call", choice: request.function_call };
  if (choice === undefined || choice === null) return { type: "auto" };
  if (choice === "auto" || choice === "none") return { type: choice };
  if (choice === "required") return { type: "required", param };
  if ("kind" in choice) {
    throw refusal(
      "tool_choice.type",
      `${JSON.stringify(choice.kind)} is not among the tools of this request`,
    );
  }
  if ("name" in choice) {
    return { type: "named", tool: { name: choice.name, param: `${param}.name` } };
  }
  if (choice.type !== "allowed_tools") return { type: "named", tool: toNamedTool(choice, param) };
  const mode = choice.allowed_tools.mode ?? "auto";
  if (mode === "none") return { type: "none" };
  return {
    type: "allowed",
    mode,
    tools: choice.allowed_tools.tools.map((tool, index) =>
      toNamedTool(tool, `${param}.allowed_tools.tools[${index}]`),
    ),
  };
}

function toNamedTool(
  tool:
    | { type: "function"; function: { name: string } }
    | { type: "custom"; custom: { name: string } },
  param: string,
): NamedTool {
  return tool.type === "function"
    ? { name: tool.function.name, param: `${param}.function.name` }
    : { name: tool.custom.name, param: `${param}.custom.name` };
}

interface ServerContext extends Pick<TurnContext, "tenant" | "hosted" | "style"> {
  /** Reads images and files in results. */
  readonly media: RequestMedia;
}

/**
 * The tools of the request's MCP servers: tools `{type: "mcp"}`, in Groq's format. This API has no approvals. Throws a {@link
 * RequestError} for a declaration that cannot be used.
 */
export async function openChatServers(
  { tools, tool_choice: choice }: ChatRequest,
  { tenant, hosted, style = "own", media }: ServerContext,
): Promise<readonly GatewayTool[]> {
  const toolbox = hosted?.toolbox.mcp;
  // Without a toolbox the declaration is refused with the other tools.
  if (choice === "none" || toolbox === undefined) return [];
  return openServersOrRefuse(toDeclarations(tools), { toolbox, tenant, style, media });
}
