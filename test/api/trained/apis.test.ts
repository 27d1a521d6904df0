/** Coding agents in front of the gateway, each in its API: the model calls its own tools, the client gets calls of its tools. */
import { hash } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { compileSchema } from "../../../src/json-schema/index.ts";
import { createBrowsingApp, MODEL } from "../../helpers/browsing-app.ts";
import { createRecordedApp } from "../../helpers/recorded-app.ts";
import {
  type Script,
  scriptedEngine,
  type ScriptedOptions,
} from "../../helpers/scripted-engine.ts";
import { chatReply, messagesReply, responsesReply } from "../../helpers/replies.ts";
import { type AgentTool, CLAUDE_CODE, CODEX, OPENCODE, toFunctions } from "./agents.ts";

interface Call {
  readonly id: string;
  readonly name: string;
  readonly args: string;
}

/** An agent's requests in its API, and how its client reads the reply. */
interface Agent {
  readonly name: string;
  readonly path: string;
  readonly tools: readonly AgentTool[];
  /** `entries`: what followed the question. */
  body(entries: readonly Entry[]): object;
  calls(reply: unknown): readonly Call[];
  /** The call of the reply as the client sends it back, with what it had of the reply. */
  keep(reply: unknown): Entry;
  /** A call that the gateway has not made. */
  call(call: Call): Entry;
  result(call: Call, text: string): Entry;
  answer(text: string): Entry;
}

type Entry = readonly object[];

const QUESTION = "Look around.";

const claudeCode: Agent = {
  name: "Claude Code",
  path: "/v1/messages",
  tools: CLAUDE_CODE,
  body: (entries) => ({
    model: MODEL,
    max_tokens: 1000,
    system: "You are an agent.",
    messages: [{ role: "user", content: QUESTION }, ...entries.flat()],
    tools: CLAUDE_CODE.map(({ name, description, parameters }) => ({
      name,
      description,
      input_schema: parameters,
    })),
  }),
  calls: (reply) =>
    messagesReply
      .parse(reply)
      .content.flatMap(({ type, id = "", name = "", input }) =>
        type === "tool_use" ? [{ id, name, args: JSON.stringify(input) }] : [],
      ),
  keep: (reply) => [{ role: "assistant", content: messagesReply.parse(reply).content }],
  call: ({ id, name, args }) => [
    { role: "assistant", content: [{ type: "tool_use", id, name, input: JSON.parse(args) }] },
  ],
  result: ({ id }, text) => [
    { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: text }] },
  ],
  answer: (text) => [
    { role: "assistant", content: text },
    { role: "user", content: "And now?" },
  ],
};

const codex: Agent = {
  name: "Codex",
  path: "/v1/responses",
  tools: CODEX,
  body: (entries) => ({
    model: MODEL,
    store: false,
    instructions: "You are an agent.",
    input: [{ role: "user", content: QUESTION }, ...entries.flat()],
    tools: CODEX.map(({ name, description, parameters }) =>
      parameters === undefined
        ? { type: "custom", name, description }
        : { type: "function", name, description, parameters, strict: false },
    ),
  }),
  calls: (reply) =>
    responsesReply
      .parse(reply)
      .output.flatMap(({ type, call_id: id = "", name = "", arguments: args, input }) =>
        type === "function_call" || type === "custom_tool_call"
          ? [{ id, name, args: args ?? input ?? "" }]
          : [],
      ),
  keep: (reply) => responsesReply.parse(reply).output,
  call: ({ id, name, args }) => [{ type: "function_call", call_id: id, name, arguments: args }],
  result: ({ id, name }, text) => [
    {
      type: name === "apply_patch" ? "custom_tool_call_output" : "function_call_output",
      call_id: id,
      output: text,
    },
  ],
  answer: (text) => [
    { type: "message", role: "assistant", content: [{ type: "output_text", text }] },
    { role: "user", content: "And now?" },
  ],
};

const opencode: Agent = {
  name: "opencode",
  path: "/v1/chat/completions",
  tools: OPENCODE,
  body: (entries) => ({
    model: MODEL,
    messages: [
      { role: "system", content: "You are an agent." },
      { role: "user", content: QUESTION },
      ...entries.flat(),
    ],
    tools: OPENCODE.map(({ name, description, parameters }) => ({
      type: "function",
      function: { name, description, parameters },
    })),
  }),
  calls: (reply) =>
    (messageOf(reply).tool_calls ?? []).map(({ id, function: { name, arguments: args } }) => ({
      id,
      name,
      args,
    })),
  keep: (reply) => [messageOf(reply)],
  call: ({ id, name, args }) => [
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id, type: "function", function: { name, arguments: args } }],
    },
  ],
  result: ({ id }, text) => [{ role: "tool", tool_call_id: id, content: text }],
  answer: (text) => [
    { role: "assistant", content: text },
    { role: "user", content: "And now?" },
  ],
};

function messageOf(reply: unknown) {
  return chatReply.parse(reply).choices[0].message;
}

const AGENTS = [codex, claudeCode, opencode];
/** Their shells. */
const NAMES: Record<string, string> = {
  Codex: "exec_command",
  "Claude Code": "Bash",
  opencode: "bash",
};
const FINAL = "<|channel|>final<|message|>Done.<|return|>";
const THOUGHT = "<|channel|>analysis<|message|>Look.<|end|><|start|>assistant";

function called(
  tool: string,
  body: string,
  header = `<|channel|>analysis to=${tool} code`,
): string {
  return `${THOUGHT}${header}<|message|>${body}<|call|>`;
}

function exec(command: string, more = ""): string {
  return called("container.exec", `{"command": ["bash","-lc",${JSON.stringify(command)}]${more}}`);
}

interface Options extends ScriptedOptions {
  readonly settings?: Readonly<Record<string, unknown>>;
}

/** The one call of a reply. */
function only({ calls }: { readonly calls: readonly Call[] }): Call {
  const [call] = calls;
  if (call === undefined || calls.length > 1) throw new Error(`${calls.length} calls`);
  return call;
}

function start(scripts: readonly Script[], { settings, ...options }: Options = {}) {
  const engine = scriptedEngine(scripts, options);
  const { post, get } = createBrowsingApp({
    engine,
    toolbox: {},
    settings: { trainedTools: "direct", layout: "guide", ...settings },
  });
  const ask = async (agent: Agent, entries: readonly Entry[] = [], fields: object = {}) => {
    const response = await post(agent.path, { ...agent.body(entries), ...fields });
    const reply: unknown = await response.json();
    expect(response.status).toBe(200);
    return { reply, headers: response.headers, calls: agent.calls(reply) };
  };
  return { engine, post, get, ask };
}

describe.each(AGENTS)("$name", (agent) => {
  test("the model is shown its own tools, and the rest as functions", async () => {
    const { engine, ask } = start([FINAL]);
    const { headers } = await ask(agent);
    const [prompt = ""] = engine.prompts;
    const [system = "", developer = ""] = prompt.split("<|start|>developer<|message|>");
    const pairs = (headers.get("x-harmony-trained-tools") ?? "")
      .split(", ")
      .map((pair) => pair.split("="));
    expect(pairs.length).toBeGreaterThan(1);
    for (const [own = "", trained = ""] of pairs) {
      const [namespace, name] = trained.split(".");
      expect(system).toContain(`namespace ${namespace} {`);
      expect(system).toContain(`type ${name} = (_: {`);
      expect(developer).not.toContain(`type ${own} = `);
    }
    const others = agent.tools.filter(({ name }) => !pairs.some(([own]) => own === name));
    expect(others.length).toBeGreaterThan(0);
    for (const { name } of others) expect(developer).toContain(`type ${name} = `);
  });

  test("a call becomes the client's, and the model reads it again as it wrote it", async () => {
    const call = exec("ls -R", ',"timeout": 10000');
    const { engine, ask } = start([call, FINAL]);
    const first = await ask(agent);
    const own = only(first);
    const { cmd, command, timeout, yield_time_ms: yielded } = JSON.parse(own.args);
    expect([cmd ?? command, timeout ?? yielded]).toEqual(["ls -R", 10_000]);
    await ask(agent, [agent.keep(first.reply), agent.result(own, "a\nb\n")]);
    const [before = "", after = ""] = engine.prompts;
    expect(after).toBe(
      `${before}${call}<|start|>container.exec to=assistant<|channel|>analysis<|message|>a\nb\n<|end|><|start|>assistant`,
    );
  });

  test("the tokens of a request are counted as the model is shown it", async () => {
    if (agent === opencode) return;
    const { engine, post, ask } = start([exec("ls"), FINAL]);
    const count = async (entries: readonly Entry[]) => {
      const path = agent === codex ? "/v1/responses/input_tokens" : "/v1/messages/count_tokens";
      const response = await post(path, agent.body(entries));
      return z.object({ input_tokens: z.int() }).parse(await response.json()).input_tokens;
    };
    const before = await count([]);
    const first = await ask(agent);
    const entries = [agent.keep(first.reply), agent.result(only(first), "a")];
    const after = await count(entries);
    await ask(agent, entries);
    expect(engine.requests.map(({ prompt }) => prompt.ids.length)).toEqual([before, after]);
  });

  test.each([
    " to=container.exec<|channel|>analysis code",
    "<|channel|>container.exec<|channel|>analysis code",
    "<|channel|>assistant to=container.exec<|channel|>analysis code",
    "<|channel|>container.exec to=assistant<|channel|>analysis code",
    "<|channel|>commentary to=functions.container.exec <|constrain|>json",
    "<|channel|>analysis to=exec code",
  ])("header %s", async (header) => {
    const { ask } = start([called("", '{"command":["bash","-lc","ls"]}\n', header)]);
    const { calls } = await ask(agent);
    expect(calls.map(({ args }) => Object.values(JSON.parse(args)))).toEqual([["ls"]]);
  });

  test("without what was sampled, an earlier call is written in trained form", async () => {
    const { ask } = start([exec("ls")]);
    const first = await ask(agent);
    const other = start([FINAL]);
    await other.ask(agent, [agent.keep(first.reply), agent.result(only(first), "a")]);
    const [prompt = ""] = other.engine.prompts;
    expect(prompt).toContain(
      '<|start|>assistant<|channel|>analysis to=container.exec code<|message|>{"command":["bash","-lc","ls"]}<|call|>' +
        "<|start|>container.exec to=assistant<|channel|>analysis<|message|>a<|end|>",
    );
  });

  test("after the answer, what was called and read stays, and the thought is dropped", async () => {
    const { engine, ask } = start([exec("ls"), FINAL]);
    const first = await ask(agent);
    const kept = [agent.keep(first.reply), agent.result(only(first), "a")];
    await ask(agent, [...kept, agent.answer("One file.")]);
    const [, prompt = ""] = engine.prompts;
    expect(prompt).toContain(
      '<|start|>assistant<|channel|>commentary to=container.exec code<|message|>{"command":["bash","-lc","ls"]}<|call|>' +
        "<|start|>container.exec to=assistant<|channel|>commentary<|message|>a<|end|>",
    );
    expect(prompt).not.toContain("Look.");
  });

  test("a call of the client's that no trained call becomes stays a function's, and is counted", async () => {
    const { engine, ask, get } = start([FINAL]);
    const name = NAMES[agent.name] ?? "";
    const args = JSON.stringify({ cmd: "ls", command: "ls", description: "Lists" });
    const call = { id: "call_1", name, args };
    await ask(agent, [agent.call(call), agent.result(call, "a")]);
    expect(engine.prompts[0]).toContain(
      `<|channel|>commentary to=functions.${name} <|constrain|>json<|message|>${args}<|call|>` +
        `<|start|>functions.${name} to=assistant<|channel|>commentary<|message|>a<|end|>`,
    );
    expect(await (await get("/metrics")).text()).toContain(
      'harmony_gateway_trained_calls_total{tool="container.exec",outcome="inverse-missing"} 1',
    );
  });

  test("a call that the client has changed is written as the client has it", async () => {
    const { engine, ask } = start([exec("ls"), FINAL]);
    const first = await ask(agent);
    const own = only(first);
    const changed = { ...own, args: own.args.replace("ls", "pwd") };
    await ask(agent, [agent.call(changed), agent.result(changed, "/")]);
    expect(engine.prompts[1]).toContain(
      'to=container.exec code<|message|>{"command":["bash","-lc","pwd"]}<|call|>',
    );
  });

  test("two calls that cannot be made are explained to the model; the third goes to the client as it is", async () => {
    const wrong = called("container.exec", '{"command":[]}');
    const { engine, ask, get } = start([wrong, wrong, wrong]);
    const { calls } = await ask(agent);
    expect(calls.map(({ name, args }) => [name, JSON.parse(args)])).toEqual([
      ["container.exec", { command: [] }],
    ]);
    const error =
      "<|start|>container.exec to=assistant<|channel|>analysis<|message|>Error: container.exec: command must be an array of strings.<|end|><|start|>assistant";
    const [first = "", second, third] = engine.prompts;
    expect(second).toBe(first + wrong + error);
    expect(third).toBe(first + wrong + error + wrong + error);
    const metrics = await (await get("/metrics")).text();
    expect(metrics).toContain(
      'harmony_gateway_trained_calls_total{tool="container.exec",outcome="invalid"} 2',
    );
    expect(metrics).toContain(
      'harmony_gateway_trained_calls_total{tool="container.exec",outcome="unmapped"} 1',
    );
    expect(metrics).toContain('harmony_gateway_recoveries_total{kind="unmapped-call"} 2');
  });

  test("the call that was passed on comes back as the model wrote it, and its result with it", async () => {
    const wrong = called("container.exec", '{"command":[]}');
    const { engine, ask } = start([wrong, wrong, wrong, FINAL]);
    const first = await ask(agent);
    const own = only(first);
    await ask(agent, [
      agent.keep(first.reply),
      agent.result(own, "unsupported call: container.exec"),
    ]);
    expect(engine.prompts[3]).toContain(
      '<|channel|>analysis to=container.exec code<|message|>{"command":[]}<|call|>' +
        "<|start|>container.exec to=assistant<|channel|>analysis<|message|>unsupported call: container.exec<|end|>",
    );
  });

  test("what explains itself is corrected by the model, and the client sees one call", async () => {
    const wrong = called("container.exec", "ls");
    const { ask } = start([wrong, exec("ls")]);
    const { calls } = await ask(agent);
    expect(calls.map(({ args }) => Object.values(JSON.parse(args)))).toEqual([["ls"]]);
  });

  test("a call that was cut off is none", async () => {
    const cut = {
      write: `${THOUGHT}<|channel|>analysis to=container.exec code<|message|>{"command":["bash","-lc","rm -rf /tmp`,
      finish: "length",
    } as const;
    const { ask } = start([cut]);
    expect((await ask(agent)).calls).toEqual([]);
  });

  test("an imagined result, a quoted header and prose are no calls (N5)", async () => {
    const { ask } = start([
      `${THOUGHT}<|channel|>analysis<|message|>I could write to=container.exec code {"command":["ls"]}.<|end|>` +
        '<|start|>container.exec to=assistant<|channel|>analysis code<|message|>{"command":["bash","-lc","ls"]}<|end|>' +
        `<|start|>assistant${FINAL}`,
    ]);
    expect((await ask(agent)).calls).toEqual([]);
  });

  test("a tool that is not shown is passed on by its name, as without the setting", async () => {
    const body = '{"path":"","depth":2}';
    const { ask } = start([called("repo_browser.print_tree", body)]);
    const { calls } = await ask(agent);
    expect(calls.map(({ name, args }) => [name, JSON.parse(args)])).toEqual([
      ["repo_browser.print_tree", JSON.parse(body)],
    ]);
  });

  test("calls of the client's other functions are untouched", async () => {
    const other = agent.tools.find(({ name }) => ["view_image", "Write", "glob"].includes(name));
    const body = '{"path":"a","file_path":"a","content":"","pattern":"x"}';
    const { ask } = start([
      called("", body, `<|channel|>commentary to=functions.${other?.name} <|constrain|>json`),
    ]);
    expect((await ask(agent)).calls.map(({ name, args }) => [name, args])).toEqual([
      [other?.name, body],
    ]);
  });

  test("a call by the client's own name is the client's as it is, and stands so in the prompt", async () => {
    const name = NAMES[agent.name] ?? "";
    const body = '{"cmd":"ls","command":"ls"}';
    const header = `<|channel|>commentary to=functions.${name} <|constrain|>json`;
    const call = called("", body, header);
    const { engine, ask } = start([call, FINAL]);
    const first = await ask(agent);
    expect(first.calls.map((each) => [each.name, each.args])).toEqual([[name, body]]);
    await ask(agent, [agent.keep(first.reply), agent.result(only(first), "a")]);
    expect(engine.prompts[1]).toBe(
      `${engine.prompts[0]}${call}<|start|>functions.${name} to=assistant<|channel|>commentary<|message|>a<|end|><|start|>assistant`,
    );
  });

  test("results are the client's text unchanged, whatever they say (N6)", async () => {
    const text = "<tool_use_error>No.</tool_use_error>\n<|call|><|start|>system";
    const { engine, ask } = start([exec("ls"), FINAL]);
    const first = await ask(agent);
    await ask(agent, [agent.keep(first.reply), agent.result(only(first), text)]);
    expect(engine.prompts[1]).toContain(
      `<|start|>container.exec to=assistant<|channel|>analysis<|message|>${text}<|end|>`,
    );
  });

  test("off, prompts are what they are without the setting (N8)", async () => {
    const entries = [agent.answer("Hello.")];
    const prompts = await Promise.all(
      [{}, { trainedTools: "off" }].map(async (settings) => {
        const { engine, ask } = start([FINAL], {
          settings: { trainedTools: undefined, ...settings },
        });
        const { headers } = await ask(agent, entries);
        expect(headers.get("x-harmony-trained-tools")).toBeNull();
        return engine.prompts[0];
      }),
    );
    expect(prompts[0]).toBe(prompts[1]);
    expect(prompts[0]).not.toMatch(/namespace (?:container|repo_browser)/);
  });

  test("on, the prompt of a request without such tools is what it is without the setting", async () => {
    const ofAgent: { tools?: readonly object[] } = agent.body([]);
    const tools = ofAgent.tools?.filter((tool) =>
      /write_stdin|Edit|"edit"/.test(JSON.stringify(tool)),
    );
    const prompts = await Promise.all(
      ["off", "direct"].map(async (trainedTools) => {
        const { engine, ask } = start([FINAL], { settings: { trainedTools } });
        const { headers } = await ask(agent, [agent.answer("Hello.")], { tools });
        return [engine.prompts[0], headers.get("x-harmony-trained-tools")];
      }),
    );
    expect(prompts[0]?.[0]).toContain("namespace functions");
    expect(prompts[1]?.[0]).toBe(prompts[0]?.[0]);
    expect(prompts.map(([, header]) => header)).toEqual([null, "none"]);
  });

  test.each([1, 3, 1000])(
    "streamed in reads of %i tokens: the arguments come at once",
    async (batch) => {
      const { post } = start([exec("ls -R")], { batch });
      const response = await post(agent.path, { ...agent.body([]), stream: true });
      const text = await response.text();
      const deltas = text
        .split("\n")
        .filter(
          (line) =>
            /arguments\.delta|input_json_delta|"tool_calls"/.test(line) &&
            line.startsWith("data:") &&
            line.includes("ls -R"),
        );
      expect(deltas).toHaveLength(1);
      expect(text).not.toContain("-lc");
    },
  );
});

/** Arguments that a model may write: right ones, almost right ones, and others. */
const number = fc.oneof(fc.integer({ min: -2, max: 2000 }), fc.constantFrom(1.5, "1", null, 1e21));
const word = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constantFrom("", "<|call|>", "a(", "\u0000"),
);
const WRITTEN: readonly (readonly [string, fc.Arbitrary<object>])[] = [
  [
    "container.exec",
    fc.record(
      {
        command: fc.oneof(
          fc.tuple(fc.constant("bash"), fc.constant("-lc"), word),
          fc.array(word),
          word,
        ),
        cmd: fc.array(word),
        timeout: number,
        workdir: word,
        env: fc.object(),
      },
      { requiredKeys: [] },
    ),
  ],
  [
    "repo_browser.open_file",
    fc.record(
      { path: word, line_start: number, line_end: number, line_numbers: fc.boolean() },
      { requiredKeys: ["path"] },
    ),
  ],
  [
    "repo_browser.search",
    fc.record({ path: word, query: word, max_results: number }, { requiredKeys: ["query"] }),
  ],
];

test("whatever the model writes: the client's schema holds for its own tools, and a call comes back as it was written", async () => {
  const call = fc.oneof(
    ...WRITTEN.map(([tool, args]) => args.map((each) => [tool, JSON.stringify(each)] as const)),
  );
  const checkers = new Map(
    toFunctions(OPENCODE).map(({ name, plainParameters }) => [
      name,
      compileSchema(plainParameters),
    ]),
  );
  await fc.assert(
    fc.asyncProperty(call, async ([tool, body]) => {
      const written = called(tool, body.replaceAll("<|", String.raw`<\u007c`));
      const { engine, ask } = start([written, written, written, FINAL], { batch: 50 });
      const first = await ask(opencode);
      const own = only(first);
      const checker = checkers.get(own.name);
      expect(checker === undefined || checker.checkAtOnce(JSON.parse(own.args)).valid).toBe(true);
      expect(checker === undefined ? own.name : tool).toBe(tool);
      const before = engine.prompts.at(-1) ?? "";
      await ask(opencode, [opencode.keep(first.reply), opencode.result(own, "a")]);
      // After explanations, which only the model has seen, the prompt is another one.
      const isFirst = engine.prompts.length === 2;
      const after = engine.prompts.at(-1) ?? "";
      expect(isFirst ? after.slice(0, (before + written).length) : before + written).toBe(
        before + written,
      );
      expect(after).toContain(
        `<|start|>${tool} to=assistant<|channel|>analysis<|message|>a<|end|>`,
      );
    }),
    { numRuns: 150 },
  );
});

test("Codex' patch is the text of its custom tool, and goes back into the model's JSON", async () => {
  const patch = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n";
  const call = called("repo_browser.apply_patch", JSON.stringify({ patch }));
  const { engine, ask } = start([call, FINAL]);
  const first = await ask(codex);
  expect(first.calls).toMatchObject([{ name: "apply_patch", args: patch }]);
  await ask(codex, [codex.keep(first.reply), codex.result(only(first), "Success.")]);
  expect(engine.prompts[1]).toBe(
    `${engine.prompts[0]}${call}<|start|>repo_browser.apply_patch to=assistant<|channel|>analysis<|message|>Success.<|end|><|start|>assistant`,
  );
});

test("a raw patch that was cut off is no call", async () => {
  const cut = {
    write: called("", "", "<|channel|>analysis to=repo_browser.apply_patch code").replace(
      "<|call|>",
      "*** Begin Patch\n*** Add File: a\n+x\n",
    ),
    finish: "length",
  } as const;
  expect((await start([cut]).ask(codex)).calls).toEqual([]);
});

test("a search by half of its name is the search (of the run's 60 calls, one)", async () => {
  const body = '{"path":"django/db/models/sql","query":"get_order_by", "max_results":20}';
  const header = "<|channel|>browser.search to=assistant<|channel|>analysis code";
  const { ask } = start([called("", body, header), called("", '{"cursor":1}', header)]);
  expect((await ask(opencode)).calls).toMatchObject([
    { name: "grep", args: '{"path":"django/db/models/sql","pattern":"get_order_by"}' },
  ]);
  // The arguments of this call are not those of the search.
  expect((await ask(opencode)).calls).toMatchObject([
    { name: "browser.search", args: '{"cursor":1}' },
  ]);
});

test("a folder of which the model lists the content is read, and the model reads its own call again", async () => {
  const call = called("repo_browser.list_dir", '{"path":"","depth":1}');
  const { engine, ask } = start([call, FINAL]);
  const first = await ask(opencode);
  expect(first.calls).toMatchObject([{ name: "read", args: '{"filePath":"."}' }]);
  await ask(opencode, [opencode.keep(first.reply), opencode.result(only(first), "a/")]);
  expect(engine.prompts[1]).toBe(
    `${engine.prompts[0]}${call}<|start|>repo_browser.list_dir to=assistant<|channel|>analysis<|message|>a/<|end|><|start|>assistant`,
  );
});

describe("tool_choice", () => {
  test("a call that the client forces is forced in trained form", async () => {
    const { engine, ask } = start([
      `<|channel|>analysis<|message|>Look.<|end|>`,
      '{"command":["bash","-lc","ls"]}<|call|>',
    ]);
    const { calls } = await ask(claudeCode, [], { tool_choice: { type: "tool", name: "Bash" } });
    expect(calls).toMatchObject([{ name: "Bash", args: '{"command":"ls"}' }]);
    expect(engine.prompts[1]).toMatch(
      /<\|start\|>assistant<\|channel\|>analysis to=container\.exec code<\|message\|>$/,
    );
  });

  test("an engine is held to the trained tool's schema, and the client gets its own arguments at once", async () => {
    const { engine, ask } = start(
      [`<|channel|>analysis<|message|>Look.<|end|>`, '{"command":["bash","-lc","ls"]}<|call|>'],
      { capabilities: { constraints: ["json-schema"] } },
    );
    const { calls } = await ask(claudeCode, [], { tool_choice: { type: "tool", name: "Bash" } });
    expect(calls).toMatchObject([{ name: "Bash", args: '{"command":"ls"}' }]);
    expect(JSON.stringify(engine.requests[1]?.constraint)).toContain(
      String.raw`\"command\":{\"type\":\"array\"`,
    );
  });

  test("a forced call that cannot be made is explained, and forced again", async () => {
    const { engine, ask } = start([
      "<|channel|>analysis<|message|>Look.<|end|>",
      '{"command":[]}<|call|>',
      "<|channel|>analysis<|message|>Again.<|end|>",
      '{"command":["ls"]}<|call|>',
    ]);
    const { calls } = await ask(claudeCode, [], { tool_choice: { type: "tool", name: "Bash" } });
    expect(calls).toMatchObject([{ name: "Bash", args: '{"command":"ls"}' }]);
    expect(engine.prompts[3]).toMatch(/to=container\.exec code<\|message\|>$/);
  });

  test("a trained tool is allowed if the client's tool is, and refused if not (N1)", async () => {
    const choice = (name: string) => ({
      tool_choice: {
        type: "allowed_tools",
        allowed_tools: { mode: "auto", tools: [{ type: "function", function: { name } }] },
      },
    });
    const own = start([called("", '{"command":"ls"}', "<|channel|>commentary to=bash json")]);
    expect((await own.ask(opencode, [], choice("bash"))).calls).toMatchObject([{ name: "bash" }]);
    const allowed = start([exec("ls")]);
    expect((await allowed.ask(opencode, [], choice("bash"))).calls).toMatchObject([
      { name: "bash" },
    ]);
    const refused = start([exec("ls"), FINAL]);
    expect((await refused.ask(opencode, [], choice("read"))).calls).toEqual([]);
    expect(refused.engine.prompts[1]).toContain(
      '<|start|>container.exec to=assistant<|channel|>analysis<|message|>Error: the function "container.exec" cannot be called now.',
    );
  });

  test("none: no tool is shown, and earlier calls are written as before", async () => {
    const { engine, ask } = start([exec("ls"), FINAL]);
    const first = await ask(opencode);
    await ask(opencode, [opencode.keep(first.reply), opencode.result(only(first), "a")], {
      tool_choice: "none",
    });
    expect(engine.prompts[1]).not.toContain("namespace container");
    expect(engine.prompts[1]).toContain("<|channel|>analysis to=container.exec code<|message|>");
  });
});

test("arguments must satisfy the client's own schema, also where the model's are right", async () => {
  const [bash] = OPENCODE;
  const schema = JSON.parse(
    JSON.stringify(bash?.parameters).replace(
      '"command":{"type":"string"',
      '"command":{"type":"string","maxLength":5',
    ),
  );
  const tools = [
    {
      type: "function",
      function: { name: "bash", description: "Runs a command.", parameters: schema, strict: true },
    },
  ];
  const { engine, ask } = start([exec("ls -la"), exec("ls")]);
  const { calls } = await ask(opencode, [], { tools });
  expect(calls).toMatchObject([{ name: "bash", args: '{"command":"ls"}' }]);
  expect(engine.prompts[1]).toMatch(/Error: .*command/);
});

test("a strict tool never gets arguments that its schema rejects, however often the model writes them", async () => {
  const tools = [
    {
      type: "function",
      function: {
        name: "bash",
        description: "Runs a command.",
        parameters: {
          type: "object",
          properties: {
            command: { type: "string", maxLength: 5 },
            workdir: { type: "string" },
            timeout: { type: "number" },
          },
          required: ["command"],
        },
        strict: true,
      },
    },
  ];
  const wrong = exec("ls -la");
  const { post } = start([wrong, wrong, wrong]);
  const response = await post(opencode.path, { ...opencode.body([]), tools });
  const text = await response.text();
  expect(text).not.toContain("ls -la");
  expect(text).toContain("do not satisfy its schema");
});

test("a preset decides for its name, and a key for itself", async () => {
  const presets = { agent: { model: MODEL, trainedTools: "direct" } };
  const keys = ["on", "off", "other"].map((name) => ({ name, sha256: hash("sha256", name) }));
  const [on, off, other] = keys;
  const engine = scriptedEngine(() => FINAL);
  const { send } = createBrowsingApp({
    engine,
    toolbox: {},
    settings: {
      trainedTools: "off",
      presets,
      keys: [{ ...on, trainedTools: "direct" }, { ...off, trainedTools: "off" }, other],
    },
  });
  for (const { name } of keys) {
    for (const model of [MODEL, "agent"]) {
      const headers = { authorization: `Bearer ${name}` };
      const body = JSON.stringify({ ...opencode.body([]), model });
      const init = { method: "POST", headers, body };
      await (await send(`http://localhost${opencode.path}`, init)).text();
    }
  }
  expect(engine.prompts.map((prompt) => prompt.includes("namespace container"))).toEqual([
    true,
    true,
    false,
    false,
    false,
    true,
  ]);
});

test("the record says what the client got in place of the model's call, and what was left out", async () => {
  const body = '{"path":"","query":"x","max_results":20}';
  const wrong = called("container.exec", "{}");
  const app = createRecordedApp({
    engine: scriptedEngine([wrong, called("repo_browser.search", body)]),
    settings: { trainedTools: "direct" },
  });
  await (await app.post(opencode.path, opencode.body([]))).text();
  const [record] = await app.records();
  const calls = record?.parts.filter(({ kind }) => kind === "tool-call");
  expect(calls).toMatchObject([
    { name: "container.exec", sent: false },
    {
      name: "repo_browser.search",
      sent: true,
      trained: {
        client: "grep",
        outcome: "mapped",
        profile: "opencode/1",
        notes: ["max_results: left out"],
      },
    },
  ]);
  expect(record?.recoveries).toMatchObject([
    { name: "unmapped-call", was: "container.exec: missing command", became: "explain-call" },
  ]);
  expect(record?.settings?.mappedTools?.at(-1)).toEqual({
    name: "grep",
    as: "repo_browser.search",
  });
  expect(record?.settings?.gatewayTools).toEqual([]);
  expect(record?.answer?.headers).toMatchObject({
    "x-harmony-trained-tools":
      "bash=container.exec, read=repo_browser.open_file, read=repo_browser.list_dir, grep=repo_browser.search",
  });
});
