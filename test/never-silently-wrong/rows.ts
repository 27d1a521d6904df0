/**
 * The table of `test/never-silently-wrong/`: a row is a sentence that clients rely on, and a check of it through the
 * running gateway, in each place where it matters. A topic's rows are in a file of their own, `<topic>.test.ts`.
 */
import { describe, test } from "vitest";
import { type Client, CLIENTS } from "./clients.ts";

type Check = () => void | Promise<void>;

/** `checks`: by place, for instance a path, a header or a command. */
export function row(sentence: string, checks: Readonly<Record<string, Check>>): void {
  describe(sentence, () => {
    for (const [place, check] of Object.entries(checks)) test(place, check);
  });
}

/** A row that holds in every API. */
export function rowOnAllApis(
  sentence: string,
  check: (client: Client) => void | Promise<void>,
): void {
  row(
    sentence,
    Object.fromEntries(CLIENTS.map((client) => [client.name, () => check(client)] as const)),
  );
}
