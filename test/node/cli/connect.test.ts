import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { CLIENTS } from "../../../src/node/cli/connect/clients.ts";
import { runConnect } from "../../../src/node/cli/connect/command.ts";
import { askTarget } from "../../../src/node/cli/connect/target.ts";
import { startTestGateway, type TestGateway } from "../../helpers/gateway.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

const home = mkdtempSync(join(tmpdir(), "connect-"));
afterAll(() => rmSync(home, { recursive: true }));

async function connect(args: string, environment: Record<string, string> = {}) {
  let printed = "";
  const code = await runConnect([...args.split(" "), "--gateway", gateway.origin], {
    environment,
    home,
    print: (text) => (printed += text),
  });
  return { code, printed };
}

test.each(Object.keys(CLIENTS))(
  "%s gets the address and the model of the running gateway",
  async (name) => {
    const { code, printed } = await connect(name);
    expect(code).toBe(0);
    expect(printed).toContain(gateway.origin);
    // Open WebUI reads the list of models itself.
    expect(printed.includes("openai/gpt-oss-20b")).toBe(name !== "open-webui");
  },
);

test("the SDK's lines for TypeScript run as they are printed", async () => {
  const { printed } = await connect("typescript");
  const file = join(import.meta.dirname, `connected-${process.pid}.mts`);
  writeFileSync(file, printed.replace("console.log(", "export default ("));
  onTestFinished(() => rmSync(file));
  const module: { default: unknown } = await import(file);
  expect(module.default).toContain("demo engine");
});

test("--write writes files that do not exist, for the user alone, and changes none", async () => {
  expect((await connect("opencode --write")).printed).toBe(
    "~/.config/opencode/opencode.json: written.",
  );
  const file = join(home, ".config/opencode/opencode.json");
  expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({
    model: "gateway/openai/gpt-oss-20b",
    provider: { gateway: { options: { baseURL: gateway.baseURL } } },
  });
  writeFileSync(file, "mine");
  expect((await connect("opencode --write")).printed).toBe(
    "~/.config/opencode/opencode.json: exists and was left as it is. Without --write, its lines are printed.",
  );
  expect(readFileSync(file, "utf8")).toBe("mine");
});

test("what follows -- starts the client with its variables and arguments", async () => {
  const program = join(home, "claude");
  const seen = join(home, "seen");
  writeFileSync(program, `#!/bin/sh\necho "$ANTHROPIC_BASE_URL $*" > "${seen}"\nexit 3\n`);
  chmodSync(program, 0o755);
  const code = await runConnect(
    ["claude", "--gateway", `${gateway.origin}/v1/`, "--", "-p", "Hi"],
    {
      environment: { PATH: home },
      print: () => {},
    },
  );
  expect(code).toBe(3);
  expect(readFileSync(seen, "utf8")).toBe(`${gateway.origin} -p Hi\n`);
});

test.each([
  ["codex --", "Codex is not installed: there is no program codex in the path."],
  [
    "python --",
    "OpenAI's SDK for Python is not started from here. Leave out --, and copy what is printed.",
  ],
  [
    "python --write",
    "OpenAI's SDK for Python has no settings file. Leave out --write, and copy what is printed.",
  ],
])("connect %s says what to do", async (args, message) => {
  const [client = "", ...rest] = args.split(" ");
  const io = { environment: { PATH: join(home, "empty") }, home, print: () => {} };
  await expect(runConnect([client, "--gateway", gateway.origin, ...rest], io)).rejects.toThrow(
    new TypeError(message),
  );
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
      `What answers at ${origin} is no gateway: ${origin}/v1/models has no list of models.`,
    ],
  ])("that answers %i %j is explained", async (status, body, key, message) => {
    await expect(askTarget(origin, key, answer(status, body))).rejects.toThrow(
      new TypeError(message),
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
        `What answers at ${origin} is no gateway: ${origin}/v1/models has no list of models.`,
      ),
    );
    expect(sent).toBeLessThan(1_500_000);
  });
});
