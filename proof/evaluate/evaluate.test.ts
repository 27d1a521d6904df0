/** The evaluation against BFCL, with a suite of two functions in BFCL's form, and a scripted engine. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { ARMS } from "./arms.ts";
import { evaluate } from "./evaluate.ts";
import { Judge } from "./judge.ts";
import { readSuite } from "./suite.ts";
import { bootstrap, summarize, toTable, wilson } from "./summary.ts";
import { type FakeUpstream, startFakeUpstream } from "../../test/helpers/fake-upstream.ts";
import { spelledIds } from "../../test/helpers/spelled.ts";
import { readPrompt, toFrame, toServerInfo } from "../../test/helpers/vllm-server.ts";

const MODEL = "openai/gpt-oss-20b";

/** The parts of BFCL's package that are used, with a class of our own. */
const PACKAGE = {
  "constants/executable_backend_config.py":
    'MULTI_TURN_FUNC_DOC_FILE_MAPPING = {"Counter": "counter.json"}\n',
  "eval_checker/multi_turn_eval/multi_turn_utils.py": `
class Counter:
    def __init__(self, value):
        self.value = value
    def add(self, amount):
        if not isinstance(amount, int):
            raise ValueError("amount is no number")
        self.value += amount
        return "added"
    def read(self):
        print("noise")
        return str(self.value)

def execute_multi_turn_func_call(calls, config, classes, model, id, long_context=False, is_evaL_run=False):
    name = f"{model}{'_eval' if is_evaL_run else ''}_{id}_Counter_instance"
    counter = globals().setdefault(name, Counter(config["Counter"]["value"]))
    results = []
    for call in calls:
        try:
            results.append(eval(call, {"add": counter.add, "read": counter.read}))
        except Exception as error:
            results.append(f"Error during execution: {error}")
    return results, {"Counter": counter}
`,
  "eval_checker/multi_turn_eval/multi_turn_checker.py": `
from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_utils import execute_multi_turn_func_call as execute

def multi_turn_irrelevance_checker(turns, truth):
    return {"valid": all(expected or not any(steps) for steps, expected in zip(turns, truth))}

def multi_turn_checker(turns, truth, entry, category, model):
    config, classes, id = entry["initial_config"], entry["involved_classes"], entry["id"]
    for steps, expected in zip(turns, truth):
        assert "unjudged" not in str(config)
        for step in steps:
            _, made = execute(step, config, classes, model, id, False, True)
        _, right = execute(expected, config, classes, model + "_ground_truth", id, False, True)
        if not steps or made["Counter"].value != right["Counter"].value:
            return {"valid": False, "error_type": "multi_turn:instance_state_mismatch"}
    return {"valid": True}
`,
  "data/multi_turn_func_doc/counter.json": [
    '{"name":"add","description":"Adds.","parameters":{"type":"dict","properties":{"amount":{"type":"integer"}},"required":["amount"]}}',
    '{"name":"read","description":"Reads.","parameters":{"type":"dict","properties":{}},"response":{"type":"string"}}',
  ].join("\n"),
};

const WORDS = ["Plain", "Broken", "Leaking", "Failing", "Endless", "Idle", "Breaking"];

function writeSuite(): string {
  const folder = mkdtempSync(join(tmpdir(), "suite-"));
  const say = (content: string) => [{ role: "user", content }];
  const questions = WORDS.map((word, index) => ({
    id: `multi_turn_base_${index}`,
    question: [say(`${word}: add 2 and 3.`), say("Now read it.")],
    initial_config: { Counter: { value: index } },
    involved_classes: ["Counter"],
  }));
  const answers = questions.map(({ id }) => ({
    id,
    ground_truth: [["add(amount=2)", "add(amount=3)"], ["read()"]],
  }));
  const toLines = (all: readonly object[]) =>
    all.map((each) => `${JSON.stringify(each)}\n`).join("");
  const files = {
    ...PACKAGE,
    "data/BFCL_v4_multi_turn_base.json": toLines(questions),
    "data/possible_answer/BFCL_v4_multi_turn_base.json": toLines(answers),
  };
  for (const [path, text] of Object.entries(files)) {
    const file = join(folder, "bfcl_eval", path);
    mkdirSync(join(file, ".."), { recursive: true });
    writeFileSync(file, text);
  }
  return folder;
}

/** The model's next call, by the number of results since the last user message. Undefined: it answers. */
function nextCall(said: string, results: number): { name: string; args: string } | undefined {
  if (said.startsWith("Endless")) return { name: "add", args: '{"amount":0}' };
  if (said.startsWith("Idle")) return undefined;
  if (said.startsWith("Now")) return results === 0 ? { name: "read", args: "{}" } : undefined;
  return [
    { name: "add", args: '{"amount":2}' },
    { name: "add", args: '{"amount":3}' },
  ][results];
}

/** Raw output, with a broken header in the cases that require it. */
function write(prompt: string): string {
  const user = prompt.slice(prompt.lastIndexOf("<|start|>user<|message|>") + 24);
  const call = nextCall(user, user.split("<|start|>functions.").length - 1);
  if (call === undefined) return "<|channel|>final<|message|>Done.<|return|>";
  const header = user.startsWith("Broken")
    ? `<|channel|>functions.${call.name}<|channel|>commentary json`
    : ` to=functions.${call.name}<|channel|>commentary json`;
  return `${header}<|message|>${call.args}<|call|>`;
}

const chatRequest = z.looseObject({
  seed: z.number(),
  temperature: z.number(),
  tools: z.array(z.looseObject({ function: z.looseObject({ parameters: z.unknown() }) })),
  messages: z.array(z.looseObject({ role: z.string(), content: z.string().nullish() })),
});
type ChatRequest = z.infer<typeof chatRequest>;

const asked: ChatRequest[] = [];

/** The engine's own endpoint, which cannot read broken output. */
function chat(body: string): { status: number; reply: object } | "break" {
  const request = chatRequest.parse(JSON.parse(body));
  asked.push(request);
  const at = request.messages.findLastIndex(({ role }) => role === "user");
  const said = request.messages[at]?.content ?? "";
  const results = request.messages.slice(at).filter(({ role }) => role === "tool").length;
  if (said.startsWith("Breaking")) return "break";
  if (said.startsWith("Failing")) return { status: 500, reply: { error: "parser" } };
  const call = nextCall(said, results);
  const isBroken = said.startsWith("Broken") && results === 0;
  const args = isBroken ? "{" : call?.args;
  const content = said.startsWith("Leaking") && results === 2 ? "<|channel|>final Done." : "Done.";
  const calls = call && [
    { id: `c${results}`, type: "function", function: { name: call.name, arguments: args } },
  ];
  const message = {
    role: "assistant",
    content: call ? null : content,
    reasoning: "Hm.",
    tool_calls: calls,
  };
  return { status: 200, reply: { choices: [{ message }], usage: { completion_tokens: 10 } } };
}

describe.skipIf(!hasPython3())(
  `the evaluation${hasPython3() ? "" : " (skipped: there is no python3)"}`,
  () => {
    let folder = "";
    let server: FakeUpstream;
    let judge: Judge;

    beforeAll(async () => {
      folder = writeSuite();
      judge = new Judge(folder);
      server = await startFakeUpstream((exchange) => {
        if (exchange.path === "/v1/chat/completions") {
          const answer = chat(exchange.body);
          if (answer === "break") return exchange.destroy();
          return exchange.reply(answer.status, JSON.stringify(answer.reply));
        }
        if (exchange.path !== "/v1/completions")
          return exchange.reply(200, toServerInfo(exchange.path));
        const prompt = readPrompt(exchange.body);
        const isProbe = !prompt.startsWith("<|start|>system");
        exchange.begin();
        const ids = spelledIds(isProbe ? "<|return|>" : write(prompt));
        exchange.end(`${toFrame(ids, null)}${toFrame([], "stop")}data: [DONE]\n\n`);
      });
    });

    afterAll(async () => {
      await judge.close();
      await server.close();
      rmSync(folder, { recursive: true });
    });

    async function play(arms: readonly string[], seeds = 1) {
      const { cases } = readSuite(folder, "base", await judge.documents());
      const results = await evaluate({
        engine: server.url,
        model: MODEL,
        cases,
        seeds,
        concurrency: 2,
        maxTokens: 500,
        timeoutMs: 60_000,
        arms: ARMS.filter(({ name }) => arms.includes(name)),
        judge,
      });
      return { results, summaries: summarize(results) };
    }

    test("plays the engine's endpoint and the gateway over it, and tells how each case ended", async () => {
      const { results, summaries } = await play(["engine", "guide"]);
      const [engine, guide] = results;
      expect(engine?.played.map(({ problem, malformed }) => [problem, malformed])).toEqual([
        ["", 0],
        ["multi_turn:instance_state_mismatch", 1],
        ["", 1],
        ["a request failed", 1],
        ["too many steps", 0],
        ["multi_turn:instance_state_mismatch", 0],
        ["a request failed", 1],
      ]);
      expect(guide?.played.map(({ problem, malformed }) => [problem, malformed])).toEqual([
        ["", 0],
        ["", 0],
        ["", 0],
        ["", 0],
        ["too many steps", 0],
        ["multi_turn:instance_state_mismatch", 0],
        ["", 0],
      ]);
      // The repairs belong to the two calls with a broken header.
      expect(guide?.repairs).toEqual({ "channel-in-recipient": 2, "missing-to": 2 });
      expect(summaries.map(({ passed }) => passed.value)).toEqual([2 / 7, 5 / 7]);
      expect(summaries[1]?.difference?.value).toBeCloseTo(3 / 7);
      expect(summaries[0]?.difference).toBeUndefined();
    });

    test("sends each seed, BFCL's types as those of JSON Schema, and reasoning back as it came", async () => {
      asked.length = 0;
      const { results } = await play(["engine"], 2);
      expect(results[0]?.played.map(({ seed }) => seed).slice(0, 4)).toEqual([1, 2, 1, 2]);
      expect(new Set(asked.map(({ seed }) => seed))).toEqual(new Set([1, 2]));
      const parameters = asked[0]?.tools.map((tool) => tool.function.parameters);
      expect(parameters?.[0]).toEqual({
        type: "object",
        properties: { amount: { type: "integer" } },
        required: ["amount"],
      });
      const [returned] = asked.flatMap(({ messages }) =>
        messages.filter(({ role }) => role === "assistant"),
      );
      expect(returned).toMatchObject({ reasoning: "Hm." });
      expect(returned).not.toHaveProperty("content");
    });

    test("skips an arm whose settings have no effect on these functions, with the reason", async () => {
      const { results, summaries } = await play(["direct"]);
      const skipped = "no function of these cases is one that it changes";
      expect(results).toMatchObject([{ skipped, played: [] }]);
      expect(toTable(summaries)).toContain(`| direct | skipped: ${skipped} |`);
    });

    test("names of arguments that would be code are not executed, and values stay as they were written", async () => {
      const { cases } = readSuite(folder, "base", await judge.documents());
      const [first] = cases;
      if (first === undefined) throw new Error("there are no cases");
      const call = { name: "add", arguments: '{"amount=exit(1) or amount":1}' };
      const spelled = { name: "add", arguments: '{"amount":1.0}' };
      const quoted = { name: "add", arguments: JSON.stringify({ amount: "1)\nexit(1)#'\"" }) };
      expect(await judge.run("hostile", first, [call, spelled, quoted])).toEqual({
        results: [
          "Error during execution: an argument has no valid name",
          "Error during execution: amount is no number",
          "Error during execution: amount is no number",
        ],
        sources: ["add(amount=1.0)", `add(amount='1)\\nexit(1)#\\'"')`],
      });
    });

    test("fails with what the suite's own program says, if it ends", async () => {
      const other = new Judge(join(folder, "nowhere"));
      await expect(other.documents()).rejects.toThrow(
        /judge\.py has ended: .*No module named 'bfcl_eval'/s,
      );
      await expect(other.documents()).rejects.toThrow("judge.py has ended");
      await other.close();
    });
  },
);

describe("intervals", () => {
  test("of a share: Wilson's, which is no point where nothing was seen", () => {
    const none = wilson(0, 100);
    expect([none.value, none.low]).toEqual([0, 0]);
    expect(none.high).toBeCloseTo(0.037, 3);
    const half = wilson(50, 100);
    expect([half.low, half.high].map((each) => each.toFixed(3))).toEqual(["0.404", "0.596"]);
  });

  test("of a mean over cases: by drawing cases, the same each time", () => {
    const values = Array.from({ length: 100 }, (_, index) => index % 2);
    const interval = bootstrap(values);
    expect(interval).toEqual(bootstrap(values));
    expect(interval.value).toBe(0.5);
    expect(interval.low).toBeGreaterThan(0.38);
    expect(interval.high).toBeLessThan(0.62);
    expect(bootstrap([1, 1, 1])).toEqual({ value: 1, low: 1, high: 1 });
  });
});

test("the arms have names of their own, and all but the first are settings of the gateway", () => {
  expect(new Set(ARMS.map(({ name }) => name)).size).toBe(ARMS.length);
  expect(ARMS.filter(({ settings }) => settings === undefined).map(({ name }) => name)).toEqual([
    "engine",
  ]);
});

function hasPython3(): boolean {
  try {
    execFileSync("python3", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
