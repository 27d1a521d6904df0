import { expect, test } from "vitest";
import { redact, toSecrets } from "../../src/engines/server-response.ts";
import { connectServer } from "../../src/engines/server.ts";

test("a secret we sent is removed from messages", () => {
  const secrets = toSecrets({
    "accept-encoding": "identity",
    authorization: "Bearer sk-secret",
    "x-gateway-token": "token-7f-long",
    "x-short": "abc",
  });
  expect(redact("identity: bad key sk-secret, abc, token-7f-long; sk-secret", secrets)).toBe(
    "identity: bad key [redacted], abc, [redacted]; [redacted]",
  );
});

test("an engine's error has no key in it, wherever it repeats one", () => {
  const server = connectServer("vllm", { url: "http://engine", model: "m", apiKey: "sk-secret" });
  const error = server.toError({ message: "Incorrect API key provided: sk-secret", status: 401 });
  expect(error.serverMessage).toBe("Incorrect API key provided: [redacted]");
  expect(error.message).not.toContain("Incorrect");
});
