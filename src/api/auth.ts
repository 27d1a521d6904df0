/**
 * Authentication by keys. Only their hashes are configured; a presented key is hashed and looked up.
 * The keys are long and random, so a plain SHA-256 is enough: there is nothing to guess.
 */
import type { HonoRequest } from "hono";
import { onlyAllowed } from "../models/allowed-models.ts";
import type { Models } from "../models/models.ts";
import type { Authentication } from "./api.ts";
import { type Client, type KeyExpiry, toPrivate } from "./request/client.ts";
import { RequestError } from "./errors.ts";
import { sha256Hex } from "./sha256.ts";

export interface ClientKey {
  /** The tenant. */
  readonly name: string;
  /** 64 lower-case hex digits. */
  readonly sha256: string;
  readonly reasoningPolicy?: Client["reasoningPolicy"] | undefined;
  /** Names of models and presets. Absent: all. */
  readonly models?: readonly string[] | undefined;
  /** False: the content of its requests and replies is kept out of records, traces and logs. Default: true. */
  readonly record?: boolean | undefined;
  /** ISO 8601: a date, whose end in UTC is meant, or a time. Absent: the key does not expire. */
  readonly expires?: string | undefined;
}

export interface AuthOptions {
  /** Empty: every client is the tenant `anonymous`, whatever key it sends. */
  readonly keys: readonly ClientKey[];
  readonly reasoningPolicy: Client["reasoningPolicy"];
}

/** Finds the client of a request. Rejects with a {@link RequestError} of status 401 if the request has no valid key. */
export type Authenticate = (
  request: HonoRequest,
  authentication: Authentication,
) => Client | Promise<Client>;

export function createAuthenticate(
  { keys, reasoningPolicy }: AuthOptions,
  models: Models,
  now: () => number,
): Authenticate {
  const anonymous: Client = { tenant: "anonymous", reasoningPolicy, models };
  if (keys.length === 0) return () => anonymous;
  const toClient = (key: ClientKey): Client => {
    const client: Client = {
      tenant: key.name,
      reasoningPolicy: key.reasoningPolicy ?? reasoningPolicy,
      models: key.models ? onlyAllowed(models, key.models) : models,
      ...(key.expires !== undefined && { expiry: toExpiry(key.expires) }),
    };
    return key.record === false ? toPrivate(client) : client;
  };
  const clients = new Map(keys.map((key) => [key.sha256, toClient(key)]));

  return async (request, { presentedKeys, instruction }) => {
    const presented = presentedKeys(request);
    if (presented.length === 0) throw unauthorized(`An API key is required. ${instruction}`);
    const found: Client[] = [];
    for (const key of presented) {
      // The duration of the lookup may reveal something about the hash, but a key cannot be found from its hash.
      const client = clients.get(await sha256Hex(key));
      if (client !== undefined) found.push(client);
    }
    const [first] = found;
    if (first === undefined) throw unauthorized("The API key is not valid for this gateway.");
    const time = now();
    const working = found.find((client) => !isExpired(client, time));
    if (working === undefined) refuseExpired(first, time);
    return working ?? first;
  };
}

/** @throws RequestError if the client's key has expired. Each request is checked, also on an open WebSocket. */
export function refuseExpired(client: Client, now: number): void {
  if (!isExpired(client, now)) return;
  throw unauthorized(
    `The API key expired on ${client.expiry?.text}. Ask the operator of this gateway for another one.`,
  );
}

function isExpired({ expiry }: Client, now: number): boolean {
  return expiry !== undefined && now >= expiry.at;
}

const DAY_MS = 86_400_000;

export function toExpiry(text: string): KeyExpiry {
  const isDate = !text.includes("T");
  return { at: Date.parse(text) + (isDate ? DAY_MS : 0), text };
}

function unauthorized(message: string): RequestError {
  return new RequestError(message, { status: 401 });
}
