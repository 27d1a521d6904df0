/** The messages between the store and the thread of the database. */
import type { StoreLimits } from "../../store/fair-share.ts";

export interface ThreadOptions {
  /** The absolute path. */
  readonly path: string;
  /** Longest wait for a lock that another process has. */
  readonly busyMs: number;
  readonly limits: StoreLimits;
  /** False: a file that does not exist is a problem. */
  readonly mayCreate: boolean;
}

export type Operation =
  | { readonly type: "get"; readonly key: string }
  | {
      readonly type: "set";
      readonly key: string;
      readonly value: string;
      readonly ttlSeconds: number;
      readonly tenant: string;
      /** The tenant's limits. */
      readonly limits: StoreLimits;
    }
  | { readonly type: "delete"; readonly key: string }
  /** Removes expired entries, and returns their space to the file system. */
  | { readonly type: "prune" }
  | { readonly type: "counts" }
  | { readonly type: "deleteTenant"; readonly tenant: string }
  /** Rewrites the file, so that no deleted content is left in it or in its log. */
  | { readonly type: "rewrite" }
  | { readonly type: "close" };

export interface Results {
  readonly get: string | undefined;
  /** False: the entry is too large. */
  readonly set: boolean;
  readonly delete: undefined;
  /** Number of entries removed. */
  readonly prune: number;
  readonly counts: StoreCounts;
  readonly deleteTenant: Deleted;
  /** False: another process is reading the file, and its log still has pages of deleted content. */
  readonly rewrite: boolean;
  readonly close: undefined;
}

export interface Deleted {
  readonly entries: number;
  readonly bytes: number;
}

/** Contents of the file. */
export interface StoreCounts {
  readonly entries: number;
  /** Bytes of keys and values. */
  readonly bytes: number;
  /** Number of expired entries that are not removed yet, included in `entries`. */
  readonly expired: number;
  /** Size of the file and its write-ahead log. */
  readonly fileBytes: number;
  readonly tenants: readonly TenantCounts[];
}

export interface TenantCounts {
  readonly tenant: string;
  readonly entries: number;
  readonly bytes: number;
}

export interface Request {
  readonly id: number;
  readonly operation: Operation;
}

/** The reason why an operation failed. */
export interface Fault {
  /** SQLite's name of the error: `FULL`, `CORRUPT`. */
  readonly code: string;
  readonly message: string;
}

export type Reply =
  | { readonly type: "open" }
  /** The file cannot be used. The thread ends. */
  | { readonly type: "unusable"; readonly problem: Problem }
  | { readonly type: "result"; readonly id: number; readonly result: Results[keyof Results] }
  | { readonly type: "fault"; readonly id: number; readonly fault: Fault }
  /** Whether the open file is still the one at its path. Sent when the answer changes. */
  | { readonly type: "file"; readonly isInPlace: boolean }
  /** Sent periodically. */
  | { readonly type: "counts"; readonly counts: StoreCounts };

export interface Problem {
  /** A sentence that follows the path. */
  readonly says: string;
  /** The problem may be gone at the next start: a lock, a full disk. */
  readonly mayPass: boolean;
}

/** The file cannot be used now, but may be at the next start: it is locked, or the disk is full. */
export class StoreBusyError extends Error {
  override readonly name = "StoreBusyError";
}
