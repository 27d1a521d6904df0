/** The request of a conversation. */
import { type Composed, SCHEMA_NAME } from "../../src/snippets/composed.ts";
import type { Conversation, Message } from "./conversation.ts";
import { toHosted } from "./gateway-tools.ts";
import { toMessages } from "./path-messages.ts";
import { parseSchema, parseTools } from "./parse-fields.ts";
import { modelOf, state } from "./state.ts";

/** @throws Error with a sentence if the tools are not JSON. */
export function toComposed(
  conversation: Conversation,
  path: readonly Message[],
  api = conversation.api,
): Composed {
  const { system, options, format, gatewayTools = [] } = conversation;
  const { tools, hosted = [] } = parseTools(conversation.tools);
  const offered = state.status?.gatewayTools ?? [];
  const run = toHosted(
    gatewayTools.filter((name) => offered.includes(name)),
    api,
  );
  return {
    model: modelOf(conversation),
    ...(system.trim() !== "" && { system }),
    messages: toMessages(path),
    tools,
    hosted: [...hosted, ...run],
    options: {
      ...options,
      ...(format === "object" && { format: { type: "object" } }),
      ...(format === "schema" && {
        format: { type: "schema", name: SCHEMA_NAME, schema: parseSchema(conversation.schema) },
      }),
    },
  };
}
