import { expect, it } from "vitest";
import { eventually } from "../../helpers/eventually.ts";
import { startTestGateway } from "../../helpers/gateway.ts";

it("is the engine of a gateway whose settings name it, and says why it is not ready", async () => {
  const gateway = await startTestGateway({ settings: { engine: "llama", model: "/none.gguf" } });
  await eventually(() =>
    expect(gateway.logged).toContainEqual(
      expect.objectContaining({
        event: "engine unavailable",
        // The model's name for clients does not contain the path.
        model: "none",
        reason: expect.stringContaining(
          "There is no file /none.gguf. Write the path of a GGUF file, hf:user/repository/file.gguf, or openai/gpt-oss-20b.",
        ),
      }),
    ),
  );
  const response = await fetch(`${gateway.baseURL}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ messages: [{ role: "user", content: "Hi" }] }),
  });
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({
    // A client on this machine is the operator, and gets the cause.
    error: {
      message: expect.stringMatching(
        /^No engine is available\. Try again later\. There is no file \/none\.gguf\. /,
      ),
    },
  });
  await gateway.close();
});
