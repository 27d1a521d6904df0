declare module "*/differential-text.mjs" {
  /** A text of `length` UTF-16 units from a seed; one unit less where a surrogate pair would be cut. */
  export function largeText(recipe: { kind: string; seed: number; length: number }): string;
}
