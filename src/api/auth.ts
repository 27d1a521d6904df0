/**
 * Keys: who may use the gateway. Only hashes are configured; a presented key is hashed and compared.
 * The keys are long and random, so a plain SHA-256 is enough: there is nothing to guess.
 */
import type { MiddlewareHandler } from "hono";
import type { ApiEnv, Client } from "./client.ts";
import { RequestError } from "./errors.ts";

export interface ClientKey {
  /** The tenant. */
  readonly name: string;
  /** 64 lower-case hex digits. */
  readonly sha256: string;
  readonly reasoningPolicy?: Client["reasoningPolicy"] | undefined;
  readonly reasoningContentMirror?: boolean | undefined;
  readonly reasoningEvents?: Client["reasoningEvents"] | undefined;
}

export interface AuthOptions {
  /** None: everybody is the tenant `anonymous`, whatever key they send. */
  readonly keys: readonly ClientKey[];
  readonly reasoningPolicy: Client["reasoningPolicy"];
  readonly reasoningContentMirror: boolean;
  readonly reasoningEvents: Client["reasoningEvents"];
}

/** Sets `client`, or refuses with 401. */
export function authenticate(options: AuthOptions): MiddlewareHandler<ApiEnv> {
  const { keys, reasoningPolicy, reasoningContentMirror, reasoningEvents } = options;
  const anonymous: Client = {
    tenant: "anonymous",
    reasoningPolicy,
    mirrorReasoning: reasoningContentMirror,
    reasoningEvents,
  };
  const clients = keys.map((key) => ({
    sha256: key.sha256,
    client: {
      tenant: key.name,
      reasoningPolicy: key.reasoningPolicy ?? reasoningPolicy,
      mirrorReasoning: key.reasoningContentMirror ?? reasoningContentMirror,
      reasoningEvents: key.reasoningEvents ?? reasoningEvents,
    },
  }));

  return async (c, next) => {
    if (keys.length === 0) {
      c.set("client", anonymous);
      return next();
    }
    const presented = /^Bearer +(\S+)$/i.exec(c.req.header("authorization") ?? "")?.[1];
    if (presented === undefined) {
      throw unauthorized("A key is needed: send it as `Authorization: Bearer <key>`.");
    }
    const hash = await sha256Hex(presented);
    // Every key is compared, and each to its end, so that time says nothing about which were close.
    let client: Client | undefined;
    for (const each of clients) if (equal(each.sha256, hash)) client = each.client;
    if (client === undefined) throw unauthorized("The key is not known here.");
    c.set("client", client);
    return next();
  };
}

export async function sha256Hex(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Both have 64 characters. */
function equal(a: string, b: string): boolean {
  let difference = 0;
  for (let index = 0; index < a.length; index++) {
    difference |= a.charCodeAt(index) ^ b.charCodeAt(index);
  }
  return difference === 0;
}

function unauthorized(message: string): RequestError {
  return new RequestError(message, {
    status: 401,
    type: "authentication_error",
    errorType: "authentication",
  });
}
