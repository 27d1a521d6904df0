/** Two gateways behind nginx, restarted again and again under load. */
import { Agent, request } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../helpers/eventually.ts";
import { startHoldingVllm } from "../helpers/holding-vllm.ts";
import { type GatewayProcess, startGatewayProcess } from "../helpers/gateway-process.ts";
import { freePort } from "../helpers/listen.ts";
import { HAS_NGINX, startNginx } from "../helpers/nginx.ts";

const CLIENTS = 8;
const RESTARTS = 20;

test.skipIf(!HAS_NGINX)(
  `${RESTARTS} restarts of two gateways behind nginx lose no request (S30; skipped if nginx is not installed)`,
  { timeout: 300_000 },
  async () => {
    const engine = await startHoldingVllm(() => "<|channel|>final<|message|>Yes.<|return|>");
    onTestFinished(() => engine.close());
    const ports = [await freePort(), await freePort()] as const;
    const start = async (at: 0 | 1): Promise<GatewayProcess> => {
      const flags = `--port ${ports[at]} --engine vllm --url ${engine.url}`;
      const gateway = await startGatewayProcess(flags.split(" "));
      onTestFinished(() => gateway.stop());
      await eventually(async () => {
        expect((await fetch(`http://127.0.0.1:${ports[at]}/ready`)).status).toBe(200);
      });
      return gateway;
    };
    const gateways = [await start(0), await start(1)];
    const nginx = await startNginx([ports[0], ports[1]]);
    onTestFinished(() => nginx.stop());

    const load = startLoad(nginx.origin);
    for (let restart = 0; restart < RESTARTS; restart++) {
      const at = restart % 2 === 0 ? 0 : 1;
      // Both gateways serve requests before one of them ends.
      const before = load.answered;
      await eventually(() => expect(load.answered).toBeGreaterThan(before + 2 * CLIENTS));
      expect(await gateways[at]?.terminate()).toBe(0);
      gateways[at] = await start(at);
    }
    expect(await load.stop()).toEqual([]);
  },
);

/** Each client sends requests without a pause, on one connection that is kept alive. */
function startLoad(origin: string) {
  const failures: string[] = [];
  const end = new AbortController();
  let answered = 0;
  const running = Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      while (!end.signal.aborted) {
        const outcome = await ask(origin, agent).catch(String);
        if (outcome.startsWith("200 ") && outcome.includes('"Yes."')) answered++;
        else failures.push(outcome);
      }
      agent.destroy();
    }),
  );
  async function stop(): Promise<readonly string[]> {
    end.abort();
    await running;
    return failures;
  }
  onTestFinished(() => void stop());
  return {
    get answered() {
      return answered;
    },
    /** Resolves with the unexpected answers. */
    stop,
  };
}

/** Resolves with the status and the body. */
function ask(origin: string, agent: Agent): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(`${origin}/v1/chat/completions`, { method: "POST", agent }, (response) => {
      let text = `${response.statusCode} `;
      response.setEncoding("utf8");
      response.on("data", (data: string) => (text += data));
      response.on("end", () => resolve(text));
      response.on("error", reject);
    });
    sent.on("error", reject);
    sent.end(
      JSON.stringify({
        model: "openai/gpt-oss-20b",
        messages: [{ role: "user", content: "Is it?" }],
      }),
    );
  });
}
