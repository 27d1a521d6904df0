/** Text for a terminal: in colour where it has any, without characters that it interprets. */
import { type Colour, paint, visible } from "../cli/control-signs.ts";

/** Colours a text, or returns it unchanged. */
export type Paint = (colour: Colour, text: string) => string;

export function createPaint(hasColour: boolean): Paint {
  return (colour, text) => (hasColour ? paint(colour, text) : text);
}

/** A value as printable text: clients and servers choose some of the values. */
export function toWord(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return visible(text.replaceAll(/[\r\n\t]+/g, " "));
}

export function toCount(value: unknown): string | undefined {
  return typeof value === "number" ? value.toLocaleString("en-US") : undefined;
}

/** Rows of text as lines with aligned columns. */
export function toTable(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) {
      widths[column] = Math.max(widths[column] ?? 0, cell.length);
    }
  }
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}
