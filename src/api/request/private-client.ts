/** Clients whose content is kept out of records, traces and logs: by their key, or by a header of one request. */
import { withPrivateTurns } from "../../models/private-turns.ts";
import { RequestError } from "../errors.ts";
import type { Client } from "./client.ts";

export const RECORD_HEADER = "x-harmony-record";

/** Every turn that the client's models run is private, whichever API asks for it, and when. */
export function toPrivate(client: Client): Client {
  if (client.isPrivate) return client;
  return { ...client, isPrivate: true, models: withPrivateTurns(client.models) };
}

/** @param value of {@link RECORD_HEADER}. A value that has no effect is refused, since its sender relies on it. */
export function obeyRecordHeader(client: Client, value: string | undefined): Client {
  if (value === undefined) return client;
  if (value.trim().toLowerCase() === "off") return toPrivate(client);
  throw new RequestError(
    `The header ${RECORD_HEADER} has the value off, or is left out: there is no other value.`,
  );
}
