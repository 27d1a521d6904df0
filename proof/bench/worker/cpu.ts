/** CPU of a Worker per token and per request, compared with Workers that parse nothing. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Bundle, emptyFolder, startWorkerd } from "../../../test/helpers/workerd.ts";
import { type Contender } from "../streaming/contenders.ts";
import type { Wire } from "../streaming/requests.ts";
import { SCENARIOS } from "../streaming/scenarios.ts";
import { runStreaming, type StreamingResults } from "../streaming/suite.ts";

const MEASURED: ReadonlySet<string> = new Set(["paced-64", "paced-64-at-20", "requests"]);

/** Passes the engine's bytes through. */
const PIPE = `export default {
  fetch: ({ method, body, url }, { HARMONY_GATEWAY_URL }) =>
    fetch(HARMONY_GATEWAY_URL + new URL(url).pathname, { method, body }),
};
`;

/** Reads and enqueues each chunk: the minimum for a Worker that processes a stream. */
const LOOP = `export default {
  async fetch({ method, body, url }, { HARMONY_GATEWAY_URL }) {
    const response = await fetch(HARMONY_GATEWAY_URL + new URL(url).pathname, { method, body });
    const reader = response.body.getReader();
    return new Response(new ReadableStream({
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    }));
  },
};
`;

export async function measureCpu(gateway: Bundle, rounds: number): Promise<StreamingResults> {
  const [pipe, loop] = await Promise.all([toBundle(PIPE), toBundle(LOOP)]);
  try {
    return await runStreaming({
      rounds,
      windowMs: 2000,
      settleMs: 1000,
      asks: 0,
      warmUpRequests: 5000,
      windows: 5,
      sameWindowMs: 800,
      enginePort: 0,
      onProgress: () => {},
      scenarios: SCENARIOS.filter(({ name }) => MEASURED.has(name)),
      contenders: [
        toContender("gateway", "chat", gateway),
        toContender("gateway-responses", "responses", gateway),
        toContender("pipe", "engine", pipe),
        toContender("loop", "engine", loop),
      ],
    });
  } finally {
    await Promise.all([pipe.remove(), loop.remove()]);
  }
}

async function toBundle(code: string): Promise<Bundle> {
  const bundle = await emptyFolder();
  await writeFile(join(bundle.folder, "worker.js"), code);
  return bundle;
}

function toContender(name: string, wire: Wire, bundle: Bundle): Contender {
  return {
    name,
    wire,
    async start(enginePort, ownPort) {
      const url = `http://127.0.0.1:${enginePort}`;
      const settings = { engine: "vllm", url, open: true, log: "silent" };
      const worker = await startWorkerd(bundle, settings, ownPort);
      return { pid: worker.pid, stop: () => worker.close() };
    },
  };
}
