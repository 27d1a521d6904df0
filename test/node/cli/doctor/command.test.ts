/** The command: its flags, its output, its exit codes. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import * as z from "zod";
import { readDoctorFlags } from "../../../../src/node/cli/doctor/command.ts";
import { runCommand } from "../../../helpers/command-io.ts";
import { startToyServer, type ToyServer } from "../../../helpers/toy-servers.ts";

const run = (...args: string[]) => runCommand(["doctor", ...args]);

test("the demo engine is examined without any settings", async () => {
  // Measured durations do not depend on a busy machine.
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const { printed, code } = await run("--quick");
  expect(code).toBe(0);
  expect(printed).toContain(`\
ok        It answers (reachable)
          asked   The gateway's probe: its models, its version, and one token.
`);
  expect(printed).toContain(
    "demo engine, built in, model openai/gpt-oss-20b\nok        This engine",
  );
  expect(printed).toContain("\nSettings: harmony-gateway --engine demo\n");
});

describe("a server", () => {
  let whole: ToyServer;
  let broken: ToyServer;

  beforeAll(async () => {
    [whole, broken] = await Promise.all([
      startToyServer({ kind: "vllm" }),
      startToyServer({ kind: "vllm", defect: "ignored-constraints" }),
    ]);
  });

  afterAll(async () => {
    await Promise.all([whole.close(), broken.close()]);
  });

  test("is detected and examined, and its credentials are not shown", async () => {
    const url = whole.url.replace("//", "//user:geheim@");
    const { printed, code } = await run("--url", url, "--checks", "identity,special-tokens");
    expect(code).toBe(0);
    expect(printed).toContain(`vllm 0.14.1 at ${whole.url}, model openai/gpt-oss-20b`);
    expect(printed).toContain(
      `Settings: harmony-gateway --engine vllm --url ${whole.url} --model openai/gpt-oss-20b`,
    );
    expect(printed).not.toContain("geheim");
  });

  test("that is broken ends with 2, and JSON says why", async () => {
    const { printed, code } = await run(
      "--engine",
      "vllm",
      "--url",
      broken.url,
      "--json",
      "--checks",
      "json-schema,health",
    );
    expect(code).toBe(2);
    const { verdict, reports } = z
      .object({
        verdict: z.string(),
        reports: z.array(z.looseObject({ checks: z.array(z.any()) })),
      })
      .parse(JSON.parse(printed));
    expect(verdict).toBe("broken");
    expect(reports[0]?.checks).toEqual([
      expect.objectContaining({ id: "reachable", verdict: "ok" }),
      expect.objectContaining({ id: "health", verdict: "ok" }),
      {
        id: "json-schema",
        title: "A JSON schema holds",
        verdict: "broken",
        asked: "An answer under the constraint, to a question for plain words.",
        came: expect.stringMatching(/^It wrote `/),
        means:
          "Answers with a schema are streamed under the engine's word, and then fail: clients get half of one and an error.",
        change: "vLLM 0.11 or newer, and no flag that turns structured outputs off.",
        ms: expect.any(Number),
      },
    ]);
  });

  test("is one of several: the worst result counts", async () => {
    const backends = [
      { engine: "vllm", url: whole.url },
      { engine: "vllm", url: broken.url },
    ];
    const { printed, code } = await run(
      "--backends",
      JSON.stringify(backends),
      "--checks",
      "json-schema",
      "--markdown",
    );
    expect(code).toBe(2);
    expect(printed.match(/^### .*/gm)).toEqual([
      `### vllm 0.14.1 at ${whole.url}, model openai/gpt-oss-20b`,
      `### vllm 0.14.1 at ${broken.url}, model openai/gpt-oss-20b`,
    ]);
  });

  test("that is only degraded ends with 1", async () => {
    const { code } = await run("--engine", "completions", "--url", whole.url, "--checks", "ids-in");
    expect(code).toBe(1);
  });
});

test.each([
  ["--checks temprature", "--checks: there is no check temprature. Did you mean temperature?"],
  ["--turns many", '--turns: expected a whole number from 0 to 10000, got "many".'],
  ["--streams 0", '--streams: expected a whole number from 1 to 1024, got "0".'],
  ["--budget", "--budget: expected a value after it."],
  ["--json --markdown", "--markdown: choose one of --json and --markdown."],
  ["--qick", "--qick: there is no such flag."],
])("%s is answered with a sentence", async (args, sentence) => {
  const { errors, code } = await run(...args.split(" "));
  expect(errors).toBe(sentence);
  expect(code).toBe(2);
});

test("its flags are read beside those of the gateway", () => {
  expect(
    readDoctorFlags(["--url", "http://gpu", "--turns=3", "--quick", "--streams", "1,2"]),
  ).toEqual({
    format: "text",
    isQuick: true,
    only: undefined,
    turns: 3,
    streams: [1, 2],
    budgetMs: 300_000,
    rest: ["--url", "http://gpu"],
  });
});

test("the usage fits a terminal", async () => {
  for (const line of (await run("--help")).printed.split("\n"))
    expect(line.length).toBeLessThanOrEqual(118);
});
