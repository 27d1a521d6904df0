/** Removes secrets from server messages: some servers repeat the key they reject. */

/** Shorter values are not secrets, and replacing them would break up words. */
const MIN_SECRET_LENGTH = 6;

const REDACTED = "[redacted]";

/** The header values to remove from messages, longest first: all but `accept-encoding`. */
export function toSecrets(headers: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(headers)
    .filter(([name]) => name.toLowerCase() !== "accept-encoding")
    .map(([, value]) => value.replace(/^(Bearer|Basic) +/i, ""))
    .filter((value) => value.length >= MIN_SECRET_LENGTH)
    .toSorted((a, b) => b.length - a.length);
}

export function redact(words: string, secrets: readonly string[]): string {
  let text = words;
  for (const secret of secrets) text = text.replaceAll(secret, REDACTED);
  return text;
}
