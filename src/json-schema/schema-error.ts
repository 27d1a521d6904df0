/** A schema that cannot be checked: where in it, as a JSON pointer, and why. */
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

/** One more step of a JSON pointer. */
export function pointerTo(pointer: string, key: string | number): string {
  return `${pointer}/${toToken(key)}`;
}

/** A key as a part of a JSON pointer. */
export function toToken(key: string | number): string {
  return String(key).replaceAll("~", "~0").replaceAll("/", "~1");
}

/** Text of a client in an error message: quoted, and no longer than is useful. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}
