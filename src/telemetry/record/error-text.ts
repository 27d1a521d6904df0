/** An error of an engine, a turn or a request as one sentence for a record. Causes and stacks stay out of it. */
export function toErrorText(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const kind = "kind" in error && typeof error.kind === "string" ? ` (${error.kind})` : "";
  return `${error.message}${kind}`;
}
