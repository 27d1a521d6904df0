/** What a server says, without the secrets we sent it: some repeat the key they refuse. */

/** Shorter values are no secrets, and would take words apart. */
const MIN_SECRET_LENGTH = 6;

const REDACTED = "[redacted]";

/** The values of these headers that must not come back: all but those that say nothing, such as encodings. */
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
