/** Splits a response into lines of JSON, the streaming format of Ollama. */
import { MAX_EVENT_CHARS, type Splitter } from "./sse.ts";

/** Passes on non-blank lines. A last line without a line break is dropped: it may be incomplete. */
export function createLineSplitter(): Splitter {
  const decoder = new TextDecoder();
  // Fragments of an unfinished line, joined once: appending to a string would copy a long line at every read.
  let fragments: string[] = [];
  let pending = 0;
  return {
    push(bytes, consumer) {
      const text = decoder.decode(bytes, { stream: true });
      const lines = text.split("\n");
      const rest = lines.pop() ?? "";
      if (lines.length > 0) {
        lines[0] = fragments.join("") + (lines[0] ?? "");
        fragments = [];
        pending = 0;
      }
      if (rest !== "") {
        fragments.push(rest);
        pending += rest.length;
      }
      if (pending > MAX_EVENT_CHARS) {
        throw new Error(`a line longer than ${MAX_EVENT_CHARS} characters`);
      }
      const events = lines.filter((line) => line.trim() !== "");
      for (const event of events) consumer(event);
      return events.length > 0;
    },
  };
}
