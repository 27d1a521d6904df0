/** A schema that cannot be compiled: its location as a JSON pointer, and the reason. */
export class SchemaError extends Error {
  /** Empty for the schema itself. */
  readonly pointer: string;
  readonly reason: string;

  constructor(pointer: string, reason: string) {
    const shown = pointer.length > 300 ? `${pointer.slice(0, 300)}…` : pointer;
    super(pointer === "" ? reason : `${shown}: ${reason}`);
    this.name = "SchemaError";
    this.pointer = pointer;
    this.reason = reason;
  }
}

/** Appends a step to a JSON pointer. */
export function pointerTo(pointer: string, key: string | number): string {
  return `${pointer}/${toToken(key)}`;
}

/** Escapes a key for a JSON pointer. */
export function toToken(key: string | number): string {
  return String(key).replaceAll("~", "~0").replaceAll("/", "~1");
}

/** Quotes and shortens client text for an error message. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}
