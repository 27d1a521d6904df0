import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type GatewayProcess, startGatewayProcess } from "../../helpers/gateway-process.ts";
import { HAS_REDIS, startRedis, type TestRedis } from "../../helpers/redis.ts";
import { responseObject } from "./schemas.ts";
import { MODEL } from "./support.ts";

describe.skipIf(!HAS_REDIS)(
  "gateways that start and stop with one Redis (skipped where redis-server is not installed)",
  () => {
    let redis: TestRedis;
    beforeAll(async () => {
      redis = await startRedis();
    });
    afterAll(() => redis.kill());

    function start(): Promise<GatewayProcess> {
      return startGatewayProcess(["--store", redis.url]);
    }

    function clientOf({ baseURL }: GatewayProcess): OpenAI {
      return new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
    }

    test("lose no stored response, conversation or background work when one is killed", async () => {
      const one = await start();
      const client = clientOf(one);
      const conversation = await client.conversations.create({ metadata: { a: "b" } });
      const made = await client.responses.create({
        model: MODEL,
        input: "Remember 42.",
        conversation: conversation.id,
      });
      const later = await client.responses.create({
        model: MODEL,
        input: "Hello!",
        background: true,
      });
      await expect
        .poll(async () => (await client.responses.retrieve(later.id)).status)
        .toBe("completed");
      await one.stop();

      const other = await start();
      const next = clientOf(other);
      const read = await next.responses.retrieve(made.id);
      expect(
        responseObject.parse(JSON.parse(JSON.stringify(read, without("output_text")))),
      ).toEqual(JSON.parse(JSON.stringify(made, without("output_text"))));
      expect((await next.responses.retrieve(later.id)).output_text).toContain("Hello!");
      const events: string[] = [];
      for await (const event of await next.responses.retrieve(later.id, { stream: true })) {
        events.push(event.type);
      }
      expect(events[0]).toBe("response.created");
      expect(events.at(-1)).toBe("response.completed");

      const continued = await next.responses.create({
        model: MODEL,
        input: "What was it?",
        previous_response_id: made.id,
      });
      expect(continued.previous_response_id).toBe(made.id);
      const items = await next.conversations.items.list(conversation.id, { order: "asc" });
      expect(items.data.map(({ type }) => type)).toEqual(["message", "reasoning", "message"]);
      await other.stop();
    });
  },
);

/** A replacer for `JSON.stringify` that leaves out a member, which the SDK has added. */
function without(name: string) {
  return (key: string, value: unknown) => (key === name ? undefined : value);
}
