/**
 * The source of each message of a conversation. Decrypted or stored reasoning is noted when it is found. Messages of a response
 * or conversation that the request continues were stored. All others were sent by the client.
 */
import type { Message } from "../../harmony/conversation.ts";
import type { Exchange } from "./exchange.ts";
import type { RecordedMessage } from "./schema.ts";

type Source = RecordedMessage["source"];

export type FindMessageSource = (
  message: Message,
  text: string,
  tenant: string,
  exchange: Exchange | undefined,
) => Source;

export interface Sources {
  readonly find: FindMessageSource;
  /** Notes reasoning of a tenant that its client did not send in plain text. */
  note(tenant: string, text: string, source: "sealed" | "stored"): void;
}

/** Limits of the remembered texts: their number, and their characters together. */
const MAX_TEXTS = 4096;
const MAX_CHARACTERS = 16 * 1024 * 1024;

export function createSources(): Sources {
  const known = new Map<string, "sealed" | "stored">();
  let characters = 0;
  const sent = new WeakMap<Exchange, ReadonlySet<string>>();

  const sentBy = (exchange: Exchange): ReadonlySet<string> => {
    let texts = sent.get(exchange);
    if (texts === undefined) sent.set(exchange, (texts = stringsOf(exchange.body)));
    return texts;
  };

  return {
    note(tenant, text, source) {
      const key = `${tenant}\n${text}`;
      if (known.delete(key)) characters -= key.length;
      known.set(key, source);
      characters += key.length;
      for (const oldest of known.keys()) {
        if (known.size <= MAX_TEXTS && characters <= MAX_CHARACTERS) break;
        known.delete(oldest);
        characters -= oldest.length;
      }
    },
    find({ role, channel }, text, tenant, exchange) {
      if (role === "system") return "gateway";
      if (exchange === undefined) return "gateway";
      const noted = channel === "analysis" ? known.get(`${tenant}\n${text}`) : undefined;
      if (noted !== undefined) return noted;
      if (!CONTINUES.test(exchange.body) || role === "developer") return "client";
      return sentBy(exchange).has(text) ? "client" : "stored";
    },
  };
}

/** Matches requests that continue a response or a conversation by its id, or refer to stored items. */
const CONTINUES = /"(?:previous_response_id|conversation|item_reference)"/;

/** All strings in a request's body. */
function stringsOf(body: string): ReadonlySet<string> {
  const found = new Set<string>();
  try {
    JSON.parse(body, (_, value: unknown) => {
      if (typeof value === "string") found.add(value);
      return value;
    });
  } catch {
    // The body is nested too deeply, or truncated: none of the text counts as sent.
  }
  return found;
}
