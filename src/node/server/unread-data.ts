/** Finds clients that leave sent data unread, by the bytes that have left the process since the last look. */
import type { Socket } from "node:net";

/** What is known of a client. */
export interface ReadProgress {
  /** Bytes that had left at the last look. */
  sent: number;
  /** Looks in a row at which data waited and none had left. */
  unreadLooks: number;
}

/** Looks that a client may read nothing. */
export const LOOKS = 10;

/**
 * Returns whether the client has read nothing for {@link LOOKS} looks. Node's own timer of a socket starts anew with each
 * write, once more when its queue has shrunk, and costs each token some 560 instructions.
 */
export function hasStalled(socket: Socket, progress: ReadProgress): boolean {
  if (socket.writableLength === 0) {
    progress.unreadLooks = 0;
    return false;
  }
  const sent = countSent(socket);
  progress.unreadLooks = sent === progress.sent ? progress.unreadLooks + 1 : 0;
  progress.sent = sent;
  return progress.unreadLooks >= LOOKS;
}

/**
 * Bytes that the system has taken. Of a write that it has taken in part only the socket's handle knows how much is left;
 * elsewhere than on Node, such a write has not left at all.
 */
function countSent(socket: Socket): number {
  const handle: unknown = Reflect.get(socket, "_handle");
  if (typeof handle === "object" && handle !== null && "bytesWritten" in handle) {
    const queued: unknown = Reflect.get(handle, "writeQueueSize");
    if (typeof queued === "number") return Number(handle.bytesWritten) - queued;
  }
  return socket.bytesWritten - socket.writableLength;
}
