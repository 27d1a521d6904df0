import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { createTestHarness } from "wrangler";
import * as z from "zod";
import { bundleStore, remoteStore, type StoreWorker } from "../helpers/remote-store.ts";
import { testStoreContract } from "../helpers/store-contract.ts";

// The real runtime has the store alone, and the real bundle over the same database.
const d1_databases = [{ binding: "KEPT", database_id: "kept", database_name: "kept" }];
const shared = { no_bundle: true, compatibility_date: "2026-10-01", d1_databases };
let bundle: StoreWorker;
let server: ReturnType<typeof createTestHarness>;

beforeAll(async () => {
  bundle = await bundleStore("store/d1-store.ts", "module.createD1Store(env.KEPT)");
  server = createTestHarness({
    workers: [
      {
        config: {
          ...shared,
          name: "gateway",
          main: join(inject("workerBundle"), "worker.js"),
          vars: { HARMONY_GATEWAY_STORE: "d1:KEPT" },
        },
      },
      { config: { ...shared, name: "store", main: bundle.main } },
    ],
  });
  await server.listen();
});
afterAll(() => Promise.all([server.close(), bundle.remove()]));

testStoreContract({
  open: () =>
    remoteStore(async (body) => {
      const answer = await server.getWorker("store").fetch("/", { method: "POST", body });
      if (answer.status !== 200) throw new Error(await answer.text());
      return answer.text();
    }),
});

test("a conversation is created, used at once and changed in the same second", async () => {
  const send = async (path: string, body: object) => {
    const response = await server.fetch(path, { method: "POST", body: JSON.stringify(body) });
    expect([path, response.status]).toEqual([path, 200]);
    return response.json();
  };
  const { id } = z.object({ id: z.string() }).parse(await send("/v1/conversations", {}));
  await send("/v1/responses", { model: "openai/gpt-oss-20b", input: "Hi.", conversation: id });
  await send(`/v1/conversations/${id}/items`, {
    items: [{ type: "message", role: "user", content: "Hi." }],
  });
  const items = await (await server.fetch(`/v1/conversations/${id}/items`)).json();
  expect(z.object({ data: z.array(z.unknown()) }).parse(items).data).toHaveLength(4);
});
