/** `--reuse-port`: plain processes that share a port. */
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { readCounter } from "../helpers/counter.ts";
import { eventually } from "../helpers/eventually.ts";
import { type GatewayProcess, startGatewayProcess } from "../helpers/gateway-process.ts";
import { startTestGateway } from "../helpers/gateway.ts";
import { type HoldingVllm, startHoldingVllm } from "../helpers/holding-vllm.ts";
import { freePort } from "../helpers/listen.ts";
import { temporaryFile } from "../helpers/sqlite.ts";

const SEALED = [
  "--reasoning-policy",
  "sealed",
  "--sealing-keys",
  Buffer.alloc(32, "k").toString("base64url"),
];

/** Where the system does not distribute connections, the gateway says so and does not start. */
const CAN_SHARE = process.platform === "linux";

describe.runIf(CAN_SHARE)(
  "processes that share a port (skipped where the system cannot share one)",
  () => {
    let engine: HoldingVllm;
    let port: number;
    const gateways: GatewayProcess[] = [];

    beforeEach(async () => {
      engine = await startHoldingVllm();
      port = await freePort();
    });
    afterEach(async () => {
      await Promise.all(gateways.splice(0).map((each) => each.stop()));
      await engine.close();
    });

    async function start(state = SEALED): Promise<GatewayProcess> {
      const flags = `--port ${port} --reuse-port --metrics-port 0 --shutdown-grace-ms 240000 --engine vllm --url ${engine.url}`;
      const gateway = await startGatewayProcess([...flags.split(" "), ...state]);
      gateways.push(gateway);
      await eventually(async () =>
        expect((await fetch(ownUrl(gateway, "/ready"))).status).toBe(200),
      );
      return gateway;
    }

    /** Opens streams, each over a separate connection, until every process has one. */
    async function openStreams(processes: readonly GatewayProcess[]): Promise<OpenStream[]> {
      const streams: OpenStream[] = [];
      do {
        streams.push(await openStream(port));
        if (streams.length > 200) throw new Error("one process gets every connection");
      } while ((await Promise.all(processes.map((each) => turnsInFlight(each)))).includes(0));
      return streams;
    }

    test("both serve, one ends and comes back, and no answer is lost", async () => {
      const [first, second] = await Promise.all([start(), start()]);
      const streams = await openStreams([first, second]);
      const counts = await Promise.all([turnsInFlight(first), turnsInFlight(second)]);
      expect(counts.reduce((sum, each) => sum + each, 0)).toBe(streams.length);

      const ended = first.terminate();
      await eventually(async () => expect((await fetch(ownUrl(first, "/ready"))).status).toBe(503));
      for (let each = 0; each < 10; each++) streams.push(await openStream(port));
      expect(await turnsInFlight(first)).toBe(counts[0]);
      expect(await turnsInFlight(second)).toBe((counts[1] ?? 0) + 10);

      const third = await start();
      const later = await openStreams([second, third]);
      engine.release();
      const texts = await Promise.all([...streams, ...later].map(({ rest }) => rest));
      for (const whole of texts) expect(whole).toMatch(/Nothing[^]* lost[^]*data: \[DONE\]\n\n$/);
      expect(await ended).toBe(0);
    });

    test("each finds the responses that the other has stored in their file, from the beginning of a new file on", async () => {
      const state = ["--store", `sqlite:${temporaryFile()}`, "--store-timeout-ms", "30000"];
      const processes = await Promise.all([start(state), start(state)]);
      const ids: string[] = [];
      const statuses = new Set<number | undefined>();
      do {
        const created = await send("/v1/responses", { input: "Hi." });
        ids.push(z.object({ id: z.string() }).parse(JSON.parse(created.text)).id);
        for (const id of ids) statuses.add((await send(`/v1/responses/${id}`)).status);
        if (ids.length > 20) throw new Error("one process gets every connection");
      } while ((await Promise.all(processes.map((each) => readsOf(each)))).some((n) => n < 3));
      expect([...statuses]).toEqual([200]);
    });

    /** Sends a request over a new connection. */
    async function send(path: string, body?: object): Promise<{ status?: number; text: string }> {
      const method = body === undefined ? "GET" : "POST";
      const sent = request({ port, host: "127.0.0.1", path, method, agent: false });
      sent.end(body && JSON.stringify(body));
      const [response]: IncomingMessage[] = await once(sent, "response");
      if (response === undefined) throw new Error("no response");
      return { status: response.statusCode ?? 0, text: await text(response) };
    }

    /** Number of requests for a stored response that a process has answered. */
    async function readsOf(gateway: GatewayProcess): Promise<number> {
      const metrics = await (await fetch(ownUrl(gateway, "/metrics"))).text();
      return Number(
        /^harmony_gateway_requests_total\{.*\/responses\/:id.*\} (\d+)$/m.exec(metrics)?.[1] ?? 0,
      );
    }

    test("the output names the state that is not shared", async () => {
      expect((await start()).output()).toContain("Clients must send store: false.");
    });

    test("the port of a process has its state and nothing else", async () => {
      const gateway = await start();
      const statusOf = async (path: string) => (await fetch(ownUrl(gateway, path))).status;
      expect(await statusOf("/health")).toBe(200);
      expect(await statusOf("/metrics?x=1")).toBe(200);
      expect(await statusOf("/v1/models")).toBe(404);
      expect(await statusOf("/v1/../metrics")).toBe(200);
      expect(await statusOf("//metrics")).toBe(404);
    });

    test("a process that does not share the port says why it cannot start", async () => {
      await start();
      await expect(startGatewayProcess(["--port", String(port)])).rejects.toThrow(
        `port ${port} of 127.0.0.1 is in use by another program.`,
      );
    });

    test("a process that shares says when another one does not", async () => {
      gateways.push(await startGatewayProcess(["--port", String(port)]));
      const shares = ["--port", String(port), "--reuse-port", ...SEALED];
      await expect(startGatewayProcess(shares)).rejects.toThrow(
        `port ${port} of 127.0.0.1 is in use by a program that does not share it.`,
      );
    });
  },
);

test("a process's own port asks for keys as the other one does, and closes with it", async () => {
  const gateway = await startTestGateway({
    settings: { metricsPort: 0, keys: [`a:${"0".repeat(64)}`] },
  });
  const { metrics } = z.object({ metrics: z.url() }).parse(gateway.logged[0]);
  expect((await fetch(metrics)).status).toBe(401);
  expect((await fetch(new URL("/health", metrics))).status).toBe(200);
  await gateway.close();
  await expect(fetch(metrics)).rejects.toThrow(TypeError);
});

test("the start names no address of metrics that are off", async () => {
  const gateway = await startTestGateway({ settings: { metricsPort: 0, metrics: "off" } });
  expect(gateway.logged[0]).toHaveProperty("event", "start");
  expect(gateway.logged[0]).not.toHaveProperty("metrics");
  await gateway.close();
});

/** The address of a path on the process's own port. */
function ownUrl(gateway: GatewayProcess, path: string): string {
  const [, url] = /"metrics":"(http:[^"]+)\/metrics"/.exec(gateway.output()) ?? [];
  if (url === undefined) throw new Error(`no port of its own: ${gateway.output()}`);
  return url + path;
}

async function turnsInFlight(gateway: GatewayProcess): Promise<number> {
  const metrics = await (await fetch(ownUrl(gateway, "/metrics"))).text();
  return readCounter(metrics, "turns_in_flight") ?? 0;
}

interface OpenStream {
  /** The whole answer, when it has ended. */
  readonly rest: Promise<string>;
}

/** Resolves when the answer has begun. */
function openStream(port: number): Promise<OpenStream> {
  return new Promise((resolve, reject) => {
    const sent = request({
      port,
      host: "127.0.0.1",
      path: "/v1/chat/completions",
      method: "POST",
      agent: false,
    });
    sent.on("response", (response) => {
      if (response.statusCode === 200) resolve({ rest: text(response) });
      else reject(new Error(`status ${response.statusCode}`));
    });
    sent.on("error", reject);
    sent.end(JSON.stringify({ stream: true, messages: [{ role: "user", content: "HOLD" }] }));
  });
}
