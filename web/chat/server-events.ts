/** Server-sent events of a response. */

export interface ServerEvent {
  readonly name: string;
  readonly data: string;
}

/** Yields events in the order of arrival, and the last one even if the response breaks off after it. */
export async function* readEvents(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<ServerEvent> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      text += value.replaceAll("\r", "");
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) yield* toEvent(block);
    }
    yield* toEvent(text);
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

function* toEvent(block: string): Generator<ServerEvent> {
  let name = "";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) name = line.slice("event:".length).trim();
    if (line.startsWith("data:")) data.push(line.slice("data:".length).replace(/^ /, ""));
  }
  if (data.length > 0) yield { name, data: data.join("\n") };
}
