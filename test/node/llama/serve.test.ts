import { expect, it } from "vitest";
import { eventually } from "../../helpers/eventually.ts";
import { startTestGateway } from "../../helpers/gateway.ts";

it("is the engine of a gateway that is told so, and says why it is not ready", async () => {
  const gateway = await startTestGateway({ settings: { engine: "llama", model: "/none.gguf" } });
  const reason = 'No model /none.gguf: No model file found at "/none.gguf"';
  await eventually(() =>
    expect(gateway.printed.join("\n")).toContain(`/none.gguf: not ready. ${reason}`),
  );
  const response = await fetch(`${gateway.baseURL}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ messages: [{ role: "user", content: "Hi" }] }),
  });
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({
    error: { message: "No engine is available. Try again later." },
  });
  await gateway.close();
});
