/** Reports the end of a response to the application, which logs the request then. */
import type { ServerResponse } from "node:http";
import type { SentResponse } from "../../api/request/client.ts";

/** The bytes are those of head and body on the connection. */
export function watchResponse(
  outgoing: ServerResponse,
): (listener: (sent: SentResponse) => void) => void {
  // It has none any more when it is closed.
  const { socket } = outgoing;
  const before = socket?.bytesWritten ?? 0;
  return (listener) => {
    const report = () => {
      listener({
        bytes: (socket?.bytesWritten ?? before) - before,
        isComplete: outgoing.writableFinished,
      });
    };
    if (outgoing.closed) report();
    else outgoing.on("close", report);
  };
}
