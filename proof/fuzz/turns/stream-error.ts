/** A stream that breaks a rule of its API. */
export class StreamError extends Error {
  constructor(rule: string, event?: unknown) {
    super(event === undefined ? rule : `${rule}: ${JSON.stringify(event).slice(0, 300)}`);
    this.name = "StreamError";
  }
}

/** The bodies of server-sent events, comments left out. */
export function readEvents(text: string): string[] {
  return text
    .split("\n\n")
    .filter((frame) => frame !== "" && !frame.startsWith(":"))
    .map((frame) => {
      const data = frame.split("\n").find((line) => line.startsWith("data: "));
      if (data === undefined) throw new StreamError("an event has data", frame);
      return data.slice("data: ".length);
    });
}
