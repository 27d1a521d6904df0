/**
 * Requests the list and the newest turn while the rest of the page is loading, so this module imports little. A page with an
 * embedded turn makes no requests.
 *
 * The token comes from the printed URL, and is stored for this tab only.
 */
import { toGatewayUrl } from "../shared/gateway-url.ts";
import { isHeaderValue } from "../shared/header-value.ts";
import type { LoadedTurn, Overview } from "./types.ts";

const TOKEN_HEADER = "x-inspect-token";
const STORED = "harmony-gateway-inspect";
/** Delay of storing, in milliseconds. The browser stores in another process, and waiting for it takes as long as an answer. */
const STORE_AFTER_MS = 100;

export interface FirstLoad {
  readonly overview: Promise<Overview>;
  /** The newest turn. Undefined: there are no turns yet. */
  readonly newest: Promise<LoadedTurn | undefined>;
}

export class TokenRefused extends Error {}

const UNSENDABLE =
  "The token has a character that cannot be sent, such as a typographic quote. Enter it again.";

let token = "";

/** The JSON of a turn in a file, which works without a gateway. */
export const sharedTurn = document.querySelector("#shared-turn")?.textContent ?? undefined;

/** Undefined: there is no token, or no gateway. */
export const firstLoad = sharedTurn === undefined ? loadWith(findToken()) : undefined;

/** @returns the requests, or undefined without a token */
export function loadWith(given: string): FirstLoad | undefined {
  if (given === "") return undefined;
  token = given;
  const first = { overview: loadOverview(), newest: loadNewest() };
  // The code that awaits them handles failures: until then they must not count as unhandled.
  for (const each of [first.overview, first.newest]) each.catch(() => undefined);
  // The token must not appear in bookmarks or screenshots.
  if (location.hash !== "")
    history.replaceState(null, "", `${location.pathname}${location.search}`);
  setTimeout(store, STORE_AFTER_MS);
  addEventListener("pagehide", store);
  return first;
}

/** Stores the token. If the browser forbids storage, the token is kept in memory only. */
function store(): void {
  try {
    sessionStorage.setItem(STORED, token);
  } catch {
    // The page has the token in memory.
  }
}

export async function loadOverview(): Promise<Overview> {
  const overview: Overview = await (await request("turns")).json();
  return overview;
}

export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  if (!isHeaderValue(token)) throw new TokenRefused(UNSENDABLE);
  const headers = { [TOKEN_HEADER]: token };
  const response = await fetch(`${toGatewayUrl()}/inspect/api/${path}`, { ...init, headers });
  if (response.ok) return response;
  const body: unknown = await response.json().catch(() => ({}));
  const reason: unknown = typeof body === "object" && body ? Reflect.get(body, "error") : undefined;
  const message = typeof reason === "string" ? reason : `The gateway answered ${response.status}.`;
  throw response.status === 401 ? new TokenRefused(message) : new Error(message);
}

async function loadNewest(): Promise<LoadedTurn | undefined> {
  const response = await request("turns/newest");
  if (response.status === 204) return undefined;
  const turn: LoadedTurn = await response.json();
  return turn;
}

function findToken(): string {
  const { hash } = location;
  const given = hash.startsWith("#token=") ? hash.slice("#token=".length) : "";
  if (given !== "") return given;
  try {
    return sessionStorage.getItem(STORED) ?? "";
  } catch {
    return "";
  }
}
