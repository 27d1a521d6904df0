/**
 * Connects to MCP servers with the protocol's official client, which is loaded when the first server is used: over
 * streamable HTTP, or to programs on this machine over stdio, which only the operator may configure.
 */
import type {
  CallToolResult,
  Client,
  ContentBlock,
  RequestOptions,
  Transport,
} from "@modelcontextprotocol/client";
import { isObject, parseBoundedJson } from "../../engines/untyped-json.ts";
import {
  boundTools,
  MAX_RESULT,
  type McpOutcome,
  type McpServer,
  type McpTool,
  McpUnavailable,
  type ReadMedia,
} from "../../tools/mcp/connection.ts";
import { boundText } from "../../tools/bounded-text.ts";
import { executionError } from "../../tools/gateway-tool.ts";
import { limitedFetch, type McpFetch } from "./http-fetch.ts";
import { StdioTransport } from "./stdio-transport.ts";
import { unlessAborted } from "../../streams/unless-aborted.ts";
import { FetchRefused } from "../../tools/browser/url-policy.ts";

export type McpTarget =
  | {
      readonly type: "http";
      readonly url: string;
      /** Headers of every request. Never logged. */
      readonly headers: Readonly<Record<string, string>>;
      /** Blocks addresses in the operator's network, for servers that a request names. */
      readonly fetch: McpFetch;
      /** Maximum bytes of one response. Absent: 4 MB. */
      readonly maxBytes?: number;
    }
  | {
      readonly type: "stdio";
      readonly command: string;
      readonly args: readonly string[];
      /** Variables added to the few that the MCP client passes on itself. */
      readonly env: Readonly<Record<string, string>>;
    };

interface McpServerOptions {
  readonly label: string;
  readonly target: McpTarget;
  /** Timeout of a listing or a call, including the connection it may need. */
  readonly timeoutMs: number;
  /** Reports to the operator why a listing or a connection failed. */
  readonly onFailure?: ((reason: string) => void) | undefined;
}

/**
 * Maximum start time of a program, which may have to be downloaded first. A request waits for a shorter time, and the next
 * request finds the program running.
 */
const START_MS = 120_000;
/** Maximum wait for the protocol version of a server. Some never answer. */
const PROBE_MS = 10_000;
/** Maximum pages of a server's list of tools. */
const MAX_PAGES = 8;

export function createMcpServer(options: McpServerOptions): McpServer {
  const { label, timeoutMs, onFailure } = options;
  const connection = new Connection(options);

  /** Limits the time of an operation, including the connection it may need. */
  async function within<T>(
    signal: AbortSignal,
    work: (client: Client, limits: RequestOptions) => Promise<T>,
  ): Promise<T> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const client = await unlessAborted(connection.open(), limit);
    return unlessAborted(work(client, { signal: limit, timeout: timeoutMs }), limit);
  }

  return {
    label,
    async listTools(signal) {
      try {
        const { tools } = await within(signal, (client, limits) =>
          client.listTools(undefined, limits),
        );
        return boundTools(tools.map((tool) => toTool(tool)));
      } catch (error) {
        signal.throwIfAborted();
        onFailure?.(reasonOf(error));
        const { text, status } = describeFailure(error);
        throw new McpUnavailable(`The MCP server ${label} cannot be used. ${text}`, {
          cause: error,
          ...(status !== undefined && { status }),
        });
      }
    },
    async callTool(name, args, signal, readMedia) {
      const parsed = parseArguments(args);
      if (parsed === undefined) return toProblem("The arguments are not a JSON object.", INVALID);
      try {
        const call = { name, arguments: parsed };
        const result = await within(signal, (client, limits) => client.callTool(call, limits));
        // The timeout is the server's: describing an image has a separate one.
        return toOutcome(result, await toTexts(result.content, signal, readMedia));
      } catch (error) {
        signal.throwIfAborted();
        const { text, status, code } = describeFailure(error);
        if (status !== undefined) {
          return { text, error: { type: "http", code: status, message: text } };
        }
        if (code === undefined) onFailure?.(reasonOf(error));
        return toProblem(text, code ?? INTERNAL);
      }
    },
    close: () => connection.close(),
  };
}

/** One connection to a server for all its callers; another one after it has ended. */
class Connection {
  readonly #target: McpTarget;
  readonly #timeoutMs: number;
  #opened: Promise<Client> | undefined;
  /** The client, set before it is connected. */
  #client: Client | undefined;
  #isConnected = false;
  /** Number of times the connection was closed. */
  #closings = 0;

  constructor({ target, timeoutMs }: McpServerOptions) {
    this.#target = target;
    this.#timeoutMs = timeoutMs;
  }

  open(): Promise<Client> {
    if (this.#isConnected && this.#client?.transport === undefined) {
      this.#opened = this.#client = undefined;
    }
    return (this.#opened ??= this.#connect());
  }

  async close(): Promise<void> {
    this.#closings++;
    const last = this.#client;
    // Closing makes a connection that is still being opened fail.
    this.#opened?.catch(() => undefined);
    this.#opened = this.#client = undefined;
    await last?.close();
  }

  async #connect(): Promise<Client> {
    this.#isConnected = false;
    const before = this.#closings;
    try {
      const client = await this.#connectWith("auto").catch((error: unknown) => {
        if (this.#target.type !== "stdio" || this.#closings !== before) throw error;
        // Some programs exit when they receive the request for their version.
        return this.#connectWith("legacy");
      });
      this.#isConnected = true;
      return client;
    } catch (error) {
      this.#opened = undefined;
      throw error;
    }
  }

  async #connectWith(mode: "auto" | "legacy"): Promise<Client> {
    const before = this.#closings;
    const client = await createClient(this.#timeoutMs, mode);
    if (this.#closings !== before) throw new McpUnavailable("It is being closed.");
    this.#client = client;
    await openClient(client, this.#target, this.#timeoutMs);
    return client;
  }
}

async function createClient(timeoutMs: number, mode: "auto" | "legacy"): Promise<Client> {
  const { Client: McpClient } = await loadClient();
  return new McpClient(
    { name: "harmony-gateway", version: "1" },
    {
      versionNegotiation: {
        mode,
        probe: { timeoutMs: Math.min(timeoutMs, PROBE_MS) },
      },
      listMaxPages: MAX_PAGES,
      // Results are passed to the model unchanged. A server's schemas are not compiled, because that could take unbounded time.
      jsonSchemaValidator: { getValidator: () => (input) => accept(input) },
    },
  );
}

async function openClient(client: Client, target: McpTarget, timeoutMs: number): Promise<void> {
  const timeout = target.type === "stdio" ? Math.max(timeoutMs, START_MS) : timeoutMs;
  try {
    await client.connect(await createTransport(target, timeoutMs), { timeout });
  } catch (error) {
    await client.close().catch(() => undefined);
    throw error;
  }
}

// oxlint-disable-next-line typescript/no-explicit-any -- the client's interface requires the requested type
function accept(data: any) {
  return { valid: true, data, errorMessage: undefined } as const;
}

async function createTransport(target: McpTarget, timeoutMs: number): Promise<Transport> {
  if (target.type === "stdio") {
    const { getDefaultEnvironment } = await import("@modelcontextprotocol/client/stdio");
    const { command, args, env } = target;
    return new StdioTransport({ command, args, env: { ...getDefaultEnvironment(), ...env } });
  }
  const { StreamableHTTPClientTransport } = await loadClient();
  return new StreamableHTTPClientTransport(new URL(target.url), {
    requestInit: { headers: target.headers },
    fetch: limitedFetch(target.fetch, timeoutMs, target.maxBytes),
  });
}

async function loadClient(): Promise<typeof import("@modelcontextprotocol/client")> {
  try {
    return await import("@modelcontextprotocol/client");
  } catch (error) {
    throw new McpUnavailable(
      "The package @modelcontextprotocol/client is not installed beside the gateway.",
      { cause: error },
    );
  }
}

function toTool(tool: {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: McpTool["inputSchema"];
  readonly annotations?: { readonly readOnlyHint?: boolean | undefined } | undefined;
}): McpTool {
  return {
    name: tool.name,
    description: tool.description ?? "",
    inputSchema: tool.inputSchema,
    readOnly: tool.annotations?.readOnlyHint === true,
  };
}

function toOutcome(
  { structuredContent, isError }: CallToolResult,
  texts: readonly string[],
): McpOutcome {
  const isBare = texts.length === 0 && structuredContent !== undefined;
  const text = boundText(isBare ? JSON.stringify(structuredContent) : texts.join("\n"), MAX_RESULT);
  if (isError !== true) return { text };
  return { text, error: executionError(text) };
}

/** Text is passed on unchanged, images and files are read. For other content, only its presence is mentioned. */
async function toTexts(
  content: readonly ContentBlock[],
  signal: AbortSignal,
  readMedia: ReadMedia | undefined,
): Promise<string[]> {
  const texts: string[] = [];
  let read = 0;
  for (const block of content) {
    const media = readMedia && read < MAX_MEDIA ? toMedia(block) : undefined;
    if (media !== undefined) read += 1;
    texts.push((media && (await readMedia?.(media, signal))) ?? toText(block));
  }
  return texts;
}

/** Maximum images and files of a result that are read, one after the other. */
const MAX_MEDIA = 4;

function toMedia(block: ContentBlock): Parameters<ReadMedia>[0] | undefined {
  if (block.type === "image") return { name: "", data: block.data, mediaType: block.mimeType };
  if (block.type !== "resource" || !("blob" in block.resource)) return undefined;
  const { uri: name, blob: data, mimeType: mediaType = "" } = block.resource;
  return { name, data, mediaType };
}

function toText(block: ContentBlock): string {
  if (block.type === "text") return block.text;
  if (block.type === "resource" && "text" in block.resource) return block.resource.text;
  return `[${block.type} left out: the model reads only text]`;
}

function toProblem(message: string, code: number): McpOutcome {
  return { text: message, error: { type: "protocol", code, message } };
}

/** JSON-RPC's error codes. */
const INVALID = -32_602;
const INTERNAL = -32_603;

function parseArguments(text: string): Record<string, unknown> | undefined {
  if (text.trim() === "") return {};
  const value = parseBoundedJson(text);
  return isObject(value) ? { ...value } : undefined;
}

/** Describes failures of MCP servers: a safe message for the model and the client, and the details for the operator. */
interface McpFailure {
  /** Message for the model and the client, without details about the gateway's network or machine. */
  readonly text: string;
  /** The HTTP status, if there was a response. */
  readonly status?: number;
  /** The JSON-RPC error code, if the server answered with an error. */
  readonly code?: number;
}

const MAX_MESSAGE = 500;

/** Maximum depth of wrapped errors that are inspected. */
const MAX_CAUSES = 4;

function describeFailure(error: unknown): McpFailure {
  let cause = error;
  for (let depth = 0; depth < MAX_CAUSES && cause instanceof Error; depth++) {
    const found = describeKnown(cause);
    if (found !== undefined) return found;
    ({ cause } = cause);
  }
  return { text: "It could not be reached, or does not answer as an MCP server." };
}

/** All details, for the log. */
function reasonOf(error: unknown): string {
  const reasons: string[] = [];
  let cause = error;
  for (let depth = 0; depth < MAX_CAUSES && cause instanceof Error; depth++) {
    reasons.push(cause.message.slice(0, MAX_MESSAGE));
    ({ cause } = cause);
  }
  return reasons.join(": ");
}

function describeKnown(error: Error): McpFailure | undefined {
  const { status, code }: { status?: unknown; code?: unknown } = Object(error);
  const text = error.message.slice(0, MAX_MESSAGE);
  if (error instanceof McpUnavailable) return { text };
  if (error instanceof FetchRefused) return { text: `It is not connected to: ${text}.` };
  if (error.name === "TimeoutError" || code === "REQUEST_TIMEOUT") {
    return { text: "It did not answer in time." };
  }
  if (typeof status === "number") return { text: `It answered with status ${status}.`, status };
  if (typeof code === "number") return { text, code };
  if (error.name === "UnauthorizedError") {
    return { text: "It refused the credentials.", status: 401 };
  }
  return undefined;
}
