/** Lines of JSON out of the bytes of a response: what Ollama streams. */
import { MAX_EVENT_CHARS, type Splitter } from "./sse.ts";

/** Each line that is not blank. A line whose end never comes is dropped: it may be half of one. */
export function createLineSplitter(): Splitter {
  const decoder = new TextDecoder();
  // Pieces of an unfinished line, joined once: appending would copy a long line again and again.
  let pieces: string[] = [];
  let pending = 0;
  return {
    push(bytes) {
      const text = decoder.decode(bytes, { stream: true });
      const lines = text.split("\n");
      const rest = lines.pop() ?? "";
      if (lines.length > 0) {
        lines[0] = pieces.join("") + (lines[0] ?? "");
        pieces = [];
        pending = 0;
      }
      if (rest !== "") {
        pieces.push(rest);
        pending += rest.length;
      }
      if (pending > MAX_EVENT_CHARS) {
        throw new Error(`sent a line longer than ${MAX_EVENT_CHARS} characters`);
      }
      return lines.filter((line) => line.trim() !== "");
    },
  };
}
