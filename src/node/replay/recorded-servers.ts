/**
 * Replaces the MCP servers of a recorded turn: they offer the recorded tools. The tools are never called, because the turn gets
 * its recorded results.
 */
import * as z from "zod";
import { readMcpItem } from "../../api/responses/mcp-items.ts";
import type { ToolFunction } from "../../harmony/conversation.ts";
import { toCompactJson } from "../../harmony/json.ts";
import { readDeveloperText } from "../../harmony/read-parts.ts";
import type { TurnRecord } from "../../telemetry/record/schema.ts";
import { type McpServer, type McpTool, McpUnavailable } from "../../tools/mcp/connection.ts";
import type { McpToolbox, OperatorServer } from "../../tools/toolbox.ts";
import { contentText } from "./read-record.ts";

/** Undefined: the request has no MCP servers. */
export function toRecordedServers(record: TurnRecord): McpToolbox | undefined {
  const declared = declaredServers(record);
  if (declared.length === 0) return undefined;
  const listings = findListings(record);
  const operators = declared.filter(({ server_url: url }) => url == null);
  return {
    servers: new Map(
      operators.map(({ server_label: label }): [string, OperatorServer] => [
        label,
        { server: toServer(record, listings, label), policy: {} },
      ]),
    ),
    connect: ({ label }) => toServer(record, listings, label),
  };
}

/** Labels of the servers whose tools the answer lists. */
export function listedServers(record: TurnRecord): readonly string[] {
  return [...findListings(record).keys()];
}

const declarations = z.object({
  tools: z.array(
    z
      .object({
        type: z.literal("mcp"),
        server_label: z.string(),
        server_url: z.string().nullish(),
      })
      .nullable()
      .catch(null),
  ),
});

function declaredServers({ request }: TurnRecord) {
  if (request === null) return [];
  const body: unknown = JSON.parse(contentText(request.body));
  return declarations.safeParse(body).data?.tools.filter((tool) => tool !== null) ?? [];
}

/** The recorded tools of a server, or the error of their listing. */
interface Listing {
  readonly tools: readonly McpTool[];
  readonly error: string | undefined;
}

const listItem = z.looseObject({
  type: z.literal("mcp_list_tools"),
  server_label: z.string(),
  error: z.string().optional(),
});

const outputs = z.object({ output: z.array(z.unknown()) });
const doneEvent = z.object({ type: z.literal("response.output_item.done"), item: z.unknown() });

/** The items of the answer in which a server's tools are listed, by its label. */
function findListings({ answer }: TurnRecord): ReadonlyMap<string, Listing> {
  const listings = new Map<string, Listing>();
  for (const message of messagesOf(answer)) {
    const items = outputs.safeParse(message).data?.output ?? [
      doneEvent.safeParse(message).data?.item,
    ];
    for (const item of items) {
      const found = listItem.safeParse(item).data;
      if (found === undefined) continue;
      const read = readMcpItem(found, "answer");
      const tools = (read?.type === "mcp-list" && read.tools) || [];
      listings.set(found.server_label, { tools, error: found.error });
    }
  }
  return listings;
}

/** The answer as parsed JSON: the body, or the events. */
function messagesOf(answer: TurnRecord["answer"]): unknown[] {
  const texts =
    answer?.body === undefined
      ? (answer?.events ?? []).flatMap(({ text }) =>
          typeof text === "string" ? text.split("\n") : [],
        )
      : [contentText(answer.body)];
  return texts.flatMap((text) => {
    try {
      const value: unknown = JSON.parse(text.replace(/^data: /, ""));
      return [value];
    } catch {
      return [];
    }
  });
}

function toServer(
  record: TurnRecord,
  listings: ReadonlyMap<string, Listing>,
  label: string,
): McpServer {
  return {
    label,
    listTools() {
      const listing = listings.get(label);
      if (listing?.error !== undefined) return Promise.reject(new McpUnavailable(listing.error));
      return Promise.resolve(listing?.tools ?? offeredTools(record, label));
    },
    callTool: () => Promise.reject(new Error("a recorded server is not called")),
    close: () => Promise.resolve(),
  };
}

/** The tools as offered to the model, without the parts of a schema that the model does not see. */
function offeredTools({ conversation }: TurnRecord, label: string): McpTool[] {
  const namespaces = conversation.flatMap(({ role, text }) =>
    role === "developer" && typeof text === "string"
      ? (readDeveloperText(text)?.namespaces ?? [])
      : [],
  );
  const flat = `${label}__`;
  return namespaces.flatMap(({ name, functions }) => {
    if (name === label) return functions.map((each) => toOffered(each, each.name));
    return functions
      .filter((each) => each.name.startsWith(flat))
      .map((each) => toOffered(each, each.name.slice(flat.length)));
  });
}

function toOffered({ description, parameters }: ToolFunction, name: string): McpTool {
  const schema: unknown = parameters === undefined ? {} : JSON.parse(toCompactJson(parameters));
  return {
    name,
    description: description ?? "",
    inputSchema: z.record(z.string(), z.unknown()).catch({}).parse(schema),
    readOnly: false,
  };
}
