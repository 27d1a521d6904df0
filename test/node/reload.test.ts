import { afterEach, describe, expect, test } from "vitest";
import { createHash } from "node:crypto";
import { createDemoEngine } from "../../src/engines/demo.ts";
import { startTestGateway, type TestGateway, type TestGatewayOptions } from "../helpers/gateway.ts";

const gateways: TestGateway[] = [];

async function start(options: TestGatewayOptions): Promise<TestGateway> {
  const gateway = await startTestGateway(options);
  gateways.push(gateway);
  return gateway;
}

afterEach(async () => {
  await Promise.all(gateways.splice(0).map((gateway) => gateway.close()));
});

function ask({ baseURL }: TestGateway, { key = "", stream = false } = {}): Promise<Response> {
  return fetch(`${baseURL}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ messages: [{ role: "user", content: "Hello!" }], stream }),
  });
}

const keyOf = (name: string) => `${name}:${createHash("sha256").update(name).digest("hex")}`;

describe("settings that are read again", () => {
  test("apply to new requests: a key comes, another goes", async () => {
    const gateway = await start({ settings: { keys: [keyOf("old")] } });
    expect((await ask(gateway, { key: "old" })).status).toBe(200);
    await gateway.reload({ keys: [keyOf("new")] });
    expect((await ask(gateway, { key: "old" })).status).toBe(401);
    expect((await ask(gateway, { key: "new" })).status).toBe(200);
  });

  test("change which backends there are", async () => {
    const gateway = await start({});
    await gateway.reload({ backends: [{ engine: "demo", servedName: "other" }] });
    const models = await (await fetch(`${gateway.baseURL}/models`)).json();
    expect(models).toMatchObject({ data: [{ id: "other" }] });
  });

  test("do not cut a stream in flight, even if its key is gone", async () => {
    const gateway = await start({
      engine: createDemoEngine({ tokensPerSecond: 200 }),
      settings: { keys: [keyOf("old")] },
    });
    const response = await ask(gateway, { key: "old", stream: true });
    await gateway.reload({ keys: [keyOf("new")] });
    expect(await response.text()).toMatch(/data: \[DONE\]\n\n$/);
  });

  test("leave what needs a restart as it was, and the log names it", async () => {
    const gateway = await start({ settings: { storeMaxEntries: 5 } });
    await gateway.reload({ storeMaxEntries: 6 });
    expect(gateway.logged.at(-1)).toMatchObject({
      event: "settings read again",
      restartFor: ["storeMaxEntries"],
    });
  });
});
