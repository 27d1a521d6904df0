/** Reads JSON that may be anything, such as a server's error or a client's schema, without throwing. */

export type UntypedObject = Readonly<Record<string, unknown>>;

/** Undefined for text that is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is UntypedObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Empty for anything else. */
export function asObject(value: unknown): UntypedObject {
  return isObject(value) ? value : {};
}

/** Empty for anything else. */
export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
