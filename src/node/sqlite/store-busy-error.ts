/** The file cannot be used now, but may be at the next start: it is locked, or the disk is full. */
export class StoreBusyError extends Error {
  override readonly name = "StoreBusyError";
}
