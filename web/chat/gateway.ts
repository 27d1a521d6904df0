/** The gateway that serves the page: its public URL, the reader's key, and requests to it. */
import { toGatewayUrl } from "../shared/gateway-url.ts";
import { MCP } from "./conversation.ts";
import { isHeaderValue } from "../shared/header-value.ts";

/** The URL for clients, shown in code. */
export function toPublicUrl(): string {
  return document.body.dataset["origin"] ?? toGatewayUrl();
}

export const HAS_INSPECTOR = document.body.dataset["inspector"] === "on";

/** Inference servers on this machine, if the reader is the operator. */
export function foundEngines(): readonly { readonly name: string; readonly command: string }[] {
  return JSON.parse(document.body.dataset["found"] ?? "[]");
}

const KEY = "harmony-gateway-key";

/** The key. If the browser forbids storage, it is kept in memory only. */
let key = read(() => sessionStorage.getItem(KEY)) ?? read(() => localStorage.getItem(KEY)) ?? "";

export function getKey(): string {
  return key;
}

/** @param isRemembered stores the key on this device; otherwise in this tab only */
export function setKey(next: string, isRemembered: boolean): void {
  key = next;
  read(() => {
    const [kept, other] = isRemembered
      ? [localStorage, sessionStorage]
      : [sessionStorage, localStorage];
    kept.setItem(KEY, next);
    // A refused key must not reappear with the next load.
    other.removeItem(KEY);
    return null;
  });
}

export function forgetKey(): void {
  key = "";
  for (const storage of [() => sessionStorage, () => localStorage]) {
    read(() => {
      storage().removeItem(KEY);
      return null;
    });
  }
}

function read(from: () => string | null): string | undefined {
  try {
    return from() ?? undefined;
  } catch {
    return undefined;
  }
}

/** Error: the gateway requires a key, or refuses this one. */
export class KeyNeeded extends Error {}

const UNSENDABLE =
  "The key has a character that cannot be sent, such as a typographic quote. Enter it again.";

/** Sends a request. Rejects with {@link KeyNeeded} if the key cannot be sent. */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  if (!isHeaderValue(key)) throw new KeyNeeded(UNSENDABLE);
  const headers = new Headers(init.headers);
  if (key !== "") headers.set("authorization", `Bearer ${key}`);
  return fetch(`${toGatewayUrl()}${path}`, { ...init, headers });
}

/** An error with the gateway's message, if there is one. */
export async function toError(response: Response): Promise<Error> {
  const body: unknown = await response.json().catch(() => ({}));
  const error: unknown = typeof body === "object" && body ? Reflect.get(body, "error") : undefined;
  const said: unknown = typeof error === "object" && error ? Reflect.get(error, "message") : error;
  const message = typeof said === "string" ? said : `The gateway answered ${response.status}.`;
  return response.status === 401 ? new KeyNeeded(message) : new Error(message);
}

/**
 * The message of an error. It replaces the browser's message for a broken connection: `fetch`, or reading a response, then
 * rejects with a `TypeError`.
 */
export function problemOf(error: unknown): string {
  if (error instanceof TypeError)
    return "The connection to the gateway broke. Is it still running?";
  return error instanceof Error ? error.message : String(error);
}

export interface ServedModel {
  readonly id: string;
  readonly contextLength?: number;
  /** Types of input such as `image` and `file` (PDFs). */
  readonly inputs: readonly string[];
}

export interface GatewayStatus {
  readonly models: readonly ServedModel[];
  /** Names of tools that the gateway runs. */
  readonly gatewayTools: readonly string[];
  /** The kind of server, such as `vllm`. Undefined: it is unknown. */
  readonly engine?: string;
  readonly isReady: boolean;
  /** The kind of the server's last failure, such as `unreachable`. */
  readonly failure?: string;
  readonly running: number;
  readonly queued: number;
}

/** Loads the status. Rejects with {@link KeyNeeded} if a key is missing. */
export async function loadStatus(): Promise<GatewayStatus> {
  const [models, ready] = await Promise.all([request("/v1/models"), request("/ready")]);
  if (!models.ok) throw await toError(models);
  const list: ModelList = await models.json();
  const state: ReadyState = await ready.json().catch(() => ({}));
  const first = state.models?.[0];
  const { engine, last_failure: { kind: failure } = {} } = first?.backends?.[0] ?? {};
  return {
    models: list.data.map(({ id, context_length: length, architecture }) => ({
      id,
      inputs: architecture?.input_modalities ?? [],
      ...(length !== undefined && { contextLength: length }),
    })),
    gatewayTools: [
      ...list.gateway_tools.builtin,
      ...list.gateway_tools.mcp_servers.map((label) => `${MCP}${label}`),
    ],
    ...(engine !== undefined && { engine }),
    isReady: ready.ok,
    ...(failure !== undefined && { failure }),
    running: first?.backends?.reduce((sum, { in_flight: own }) => sum + own, 0) ?? 0,
    queued: first?.queued ?? 0,
  };
}

interface ModelList {
  readonly data: readonly ListedModel[];
  readonly gateway_tools: {
    readonly builtin: readonly string[];
    readonly mcp_servers: readonly string[];
  };
}

interface ListedModel {
  readonly id: string;
  readonly context_length?: number;
  readonly architecture?: { readonly input_modalities: readonly string[] };
}

interface ReadyState {
  readonly models?: readonly {
    readonly queued?: number;
    readonly backends?: readonly {
      readonly engine: string;
      readonly in_flight: number;
      readonly last_failure?: { readonly kind?: string };
    }[];
  }[];
}
