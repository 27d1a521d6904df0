/** The memory of a Worker while many streams are open. */
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { listenAnywhere } from "../../../test/helpers/listen.ts";
import { type Bundle, startWorkerd } from "../../../test/helpers/workerd.ts";
import { isolateMb, residentMb } from "./process.ts";

const TOKENS_PER_SECOND = 20;
const SECONDS = 10;
/** The conversation in each request: about 4,000 tokens. */
const PROMPT = "The quick brown fox jumps over the lazy dog. ".repeat(400);

/** A table in Markdown. */
export async function measureStreams(bundle: Bundle, streams: number): Promise<string> {
  const engine = createEngine();
  const url = `http://127.0.0.1:${await listenAnywhere(engine)}`;
  const worker = await startWorkerd(bundle, { engine: "vllm", url, open: true, log: "silent" });
  const look = async () => ({
    isolate: await isolateMb(worker.inspector),
    resident: residentMb(worker.pid).now,
  });
  try {
    await drain(await ask(worker.origin));
    const before = await look();
    const open = Array.from({ length: streams }, async () => drain(await ask(worker.origin)));
    const over = new AbortController();
    const all = Promise.all(open).finally(() => over.abort());
    let most = before;
    while (!over.signal.aborted) {
      await sleep(250);
      const now = await look();
      most = {
        isolate: Math.max(most.isolate, now.isolate),
        resident: Math.max(most.resident, now.resident),
      };
    }
    const bytes = await all;
    if (bytes.some((each) => each === 0)) throw new Error("a stream was empty");
    const row = (title: string, { isolate, resident }: typeof before) =>
      `| ${title} | ${isolate.toFixed(1)} | ${resident.toFixed(1)} |`;
    return [
      `| ${streams} streams of ${TOKENS_PER_SECOND} tokens/s for ${SECONDS} s | isolate, MB | resident, MB |`,
      "| --- | ---: | ---: |",
      row("before", before),
      row("most", most),
      "",
    ].join("\n");
  } finally {
    await worker.close();
    engine.closeAllConnections();
    engine.close();
  }
}

function ask(origin: string): Promise<Response> {
  return fetch(`${origin}/v1/chat/completions`, {
    method: "POST",
    body: JSON.stringify({ stream: true, messages: [{ role: "user", content: PROMPT }] }),
  });
}

/** Reads to the end. Returns the number of bytes. */
async function drain(response: Response): Promise<number> {
  if (response.status !== 200) throw new Error(await response.text());
  let bytes = 0;
  for await (const chunk of response.body ?? []) bytes += chunk.length;
  return bytes;
}

/** vLLM's format: an answer of this many tokens at this rate. */
function createEngine() {
  const frame = (choice: object) =>
    `data: ${JSON.stringify({ id: "cmpl-1", object: "text_completion", created: 1_700_000_000, model: "openai/gpt-oss-20b", choices: [{ index: 0, text: "", logprobs: null, finish_reason: null, stop_reason: null, ...choice }] })}\n\n`;
  const opening = [200_005, 17_196, 200_008];
  return createServer((request, response) => {
    request.resume();
    if (request.url !== "/v1/completions") {
      const models = { data: [{ id: "openai/gpt-oss-20b", max_model_len: 131_072 }] };
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(request.url === "/v1/models" ? models : { version: "0" }));
      return;
    }
    response.setHeader("content-type", "text/event-stream");
    response.write(frame({ token_ids: opening }));
    let left = TOKENS_PER_SECOND * SECONDS;
    const timer = setInterval(() => {
      left -= 1;
      if (left > 0) {
        response.write(frame({ token_ids: [13_225] }));
        return;
      }
      clearInterval(timer);
      response.end(`${frame({ token_ids: [200_002], finish_reason: "stop" })}data: [DONE]\n\n`);
    }, 1000 / TOKENS_PER_SECOND);
    response.on("close", () => clearInterval(timer));
  });
}
