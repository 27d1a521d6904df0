import { describe, expect, onTestFinished, test } from "vitest";
import { askTarget } from "../../../../src/node/cli/connect/target.ts";
import { startTestGateway } from "../../../helpers/gateway.ts";

test("a running gateway gives its models and the presets that are listed", async () => {
  const settings = {
    presets: {
      review: { model: "gpt-oss-20b", effort: "high", maxOutputTokens: 4096, description: "Slow" },
      hidden: { model: "gpt-oss-20b", unlisted: true },
    },
    contextLength: 20_000,
    visionUrl: "http://127.0.0.1:1",
    visionModel: "sees",
  };
  const gateway = await startTestGateway({ settings });
  onTestFinished(() => gateway.close());
  const { models } = await askTarget(gateway.origin, undefined);
  expect(models).toEqual([
    {
      id: "openai/gpt-oss-20b",
      contextLength: 20_000,
      maxOutputTokens: 10_000,
      isPreset: false,
      description: "",
      effort: "medium",
      seesImages: true,
    },
    {
      id: "review",
      contextLength: 20_000,
      maxOutputTokens: 4096,
      isPreset: true,
      description: "Slow",
      effort: "high",
      seesImages: true,
    },
  ]);
});

describe("a gateway", () => {
  const answer = (status: number, body: string) => async () => new Response(body, { status });
  const origin = "https://llm.example.com/team";

  test.each([
    [
      401,
      "",
      undefined,
      `The gateway at ${origin} requires a key. Add --key, or set HARMONY_GATEWAY_KEY.`,
    ],
    [401, "", "k", `The gateway at ${origin} refuses the key. harmony-gateway key makes one.`],
    [
      200,
      "<html>",
      undefined,
      `The server at ${origin} is not a gateway: ${origin}/v1/models has no list of models.`,
    ],
  ])("that answers %i %j is explained", async (status, body, key, message) => {
    await expect(askTarget(origin, key, answer(status, body))).rejects.toThrow(
      new TypeError(message),
    );
  });

  test.each([
    "{file:~/.ssh/id_ed25519}",
    "$OPENAI_API_KEY",
    "${{ secrets.KEY }}",
    "a\u007Fb",
    "a\u001B[2Jb",
    "a\u202Eb",
    "a\u2028b",
  ])("whose model is called %j is refused: clients would not read it as a name", async (id) => {
    const list = JSON.stringify({ data: [{ id: "openai/gpt-oss-20b" }, { id }] });
    await expect(askTarget(origin, undefined, answer(200, list))).rejects.toThrow(
      `The gateway at ${origin} names a model ${JSON.stringify(id)}: clients could read a part of the name as a variable or a file. Serve it under another name: servedName.`,
    );
  });

  test.each(["hf.co/unsloth/gpt-oss-20b-GGUF:Q4_K_M", "C:\\models\\gpt oss (20b)@q4.gguf"])(
    "whose model is called %s is accepted",
    async (id) => {
      const list = JSON.stringify({ data: [{ id }] });
      const { models } = await askTarget(origin, undefined, answer(200, list));
      expect(models[0].id).toBe(id);
    },
  );

  test.each([-1, 0, 1.5, 1e300])("whose context length is %d is no gateway", async (length) => {
    const list = JSON.stringify({ data: [{ id: "m", context_length: length }] });
    await expect(askTarget(origin, undefined, answer(200, list))).rejects.toThrow(
      "is not a gateway",
    );
  });

  test("that sends a list without an end is left after a megabyte", async () => {
    let sent = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 100_000;
        controller.enqueue(new Uint8Array(100_000).fill(0x20));
      },
    });
    await expect(
      askTarget(origin, undefined, () => Promise.resolve(new Response(endless))),
    ).rejects.toThrow(
      new TypeError(
        `The server at ${origin} is not a gateway: ${origin}/v1/models has no list of models.`,
      ),
    );
    expect(sent).toBeLessThan(1_500_000);
  });
});
