/** Which of an agent's tools are mapped, how calls are converted in both directions, and what is never done. */
import * as fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { toClientCall, toTrainedBody } from "../../../src/api/trained/mapping.ts";
import { CLASS_OF, findMatches, type Match, shownTool } from "../../../src/api/trained/match.ts";
import { TOOL_CLASSES } from "../../../src/api/trained/profile.ts";
import { PROFILES } from "../../../src/api/trained/profiles.ts";
import { toTrainedTools } from "../../../src/api/trained/trained-tools.ts";
import { type AgentTool, CLAUDE_CODE, CODEX, OPENCODE, toFunctions } from "./agents.ts";
import { AGENTS } from "./examples.ts";

function match(tools: readonly AgentTool[]): readonly Match[] {
  return findMatches(PROFILES, toFunctions(tools));
}

function mapped(tools: readonly AgentTool[]): Record<string, string> {
  return Object.fromEntries(match(tools).map(({ tool, target }) => [tool.trained, target.name]));
}

function find(tools: readonly AgentTool[], trained: string): Match["tool"] {
  const found = match(tools).find(({ tool }) => tool.trained === trained);
  if (found === undefined) throw new Error(`${trained} is not mapped`);
  return found.tool;
}

describe.each(AGENTS)(
  "$profile with $tools.length tools",
  ({ profile, tools, mapped: expected, examples }) => {
    test("is recognized by its schemas, whatever its tools are called", () => {
      expect(mapped(tools)).toEqual(expected);
      const own = tools.map((tool) => ({ ...tool, name: `x_${tool.name}` }));
      expect(Object.keys(mapped(own))).toEqual(Object.keys(expected));
      const { tools: offered } = toTrainedTools("direct", toFunctions(tools), { type: "auto" });
      expect(offered.map((tool) => tool.mapped?.profile)).toEqual(offered.map(() => profile));
    });

    test.each(examples)(
      "$trained $body: $client $sent ($way)",
      ({ trained, body, sent, way, notes }) => {
        const tool = find(tools, trained);
        expect(toClientCall(tool, body)).toEqual({ body: sent, notes: notes ?? [] });
        const back = toTrainedBody(tool, sent);
        expect(way === "there" ? body : back).toBe(body);
        expect(back === undefined ? { body: sent } : toClientCall(tool, back)).toMatchObject({
          body: sent,
        });
      },
    );
  },
);

describe("what the model is shown", () => {
  test.each([
    [CODEX, { "container.exec": ["command", "workdir"], "repo_browser.apply_patch": ["patch"] }],
    [
      CLAUDE_CODE,
      {
        "container.exec": ["command", "timeout"],
        "repo_browser.open_file": ["path", "line_start", "line_end"],
      },
    ],
    [
      OPENCODE,
      {
        "container.exec": ["command", "workdir", "timeout"],
        "repo_browser.open_file": ["path", "line_start", "line_end"],
        "repo_browser.list_dir": ["path"],
        "repo_browser.search": ["path", "query"],
      },
    ],
  ])("has no parameter that the client cannot honour (%#)", (tools, expected) => {
    const shown = match(tools).map((each) => [
      each.tool.trained,
      Object.keys(shownTool(each).parameters),
    ]);
    expect(Object.fromEntries(shown)).toEqual(expected);
  });
});

/** Arguments of a client's tool that its mapping may write. */
const line = fc.integer({ min: 1, max: 1_000_000 });
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const words = fc.string({ minLength: 1, unit: "binary" });
const CALLS: readonly (readonly [readonly AgentTool[], string, fc.Arbitrary<object | string>])[] = [
  [
    CODEX,
    "container.exec",
    fc.record({
      cmd: words,
      workdir: optional(words),
      yield_time_ms: optional(fc.integer({ min: 250, max: 30_000 })),
    }),
  ],
  [CODEX, "repo_browser.apply_patch", words.map((text) => `${text}\n`)],
  [
    CLAUDE_CODE,
    "container.exec",
    fc.record({ command: words, timeout: optional(fc.integer({ min: 0, max: 600_000 })) }),
  ],
  [
    CLAUDE_CODE,
    "repo_browser.open_file",
    fc.record({ file_path: words, offset: optional(line), limit: optional(line) }),
  ],
  [
    OPENCODE,
    "container.exec",
    fc.record({ command: words, workdir: optional(words), timeout: optional(line) }),
  ],
  [
    OPENCODE,
    "repo_browser.search",
    fc.record({ path: optional(words), pattern: fc.constantFrom("a", "a.*b", "\\(", 'é"\\\\') }),
  ],
];

test.each(CALLS)(
  "a call of the client that is mapped back is the same (%#)",
  (tools, trained, calls) => {
    const tool = find(tools, trained);
    fc.assert(
      fc.property(calls, (call) => {
        const sent = typeof call === "string" ? call : JSON.stringify(call);
        const back = toTrainedBody(tool, sent);
        const again = toClientCall(tool, back ?? "");
        expect("body" in again && toValue(again.body)).toEqual(toValue(sent));
      }),
    );
  },
);

function toValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

describe("calls that are explained to the model", () => {
  const exec = find(CLAUDE_CODE, "container.exec");
  const open = find(CLAUDE_CODE, "repo_browser.open_file");
  const patch = find(CODEX, "repo_browser.apply_patch");
  test.each([
    [exec, "[]", "container.exec: the arguments are no JSON object"],
    [exec, "ls -R", "container.exec: the arguments are no JSON object"],
    [exec, "null", "container.exec: the arguments are no JSON object"],
    [exec, "{}", "container.exec: missing command"],
    [exec, '{"command":[]}', "container.exec: command must be an array of strings"],
    [exec, '{"command":[1]}', "container.exec: command must be an array of strings"],
    [exec, '{"command":["ls"],"cmd":["ls"]}', "container.exec: cmd and command are the same"],
    [
      exec,
      '{"command":["ls"],"timeout":"1"}',
      "container.exec: timeout must be a whole number of 0 or more",
    ],
    // N4: what limits an action is not left out.
    [exec, '{"command":["ls"],"workdir":"/w"}', 'container.exec: "workdir" is not possible here'],
    // N2: nothing that is not in the table is written.
    [
      exec,
      '{"command":["ls"],"run_in_background":true}',
      'container.exec: "run_in_background" is not possible here',
    ],
    [
      exec,
      '{"command":["ls"],"dangerouslyDisableSandbox":true}',
      'container.exec: "dangerouslyDisableSandbox" is not possible here',
    ],
    [exec, '{"command":["ls"],"__proto__":{}}', 'container.exec: "__proto__" is not possible here'],
    [open, '{"path":1}', "repo_browser.open_file: path must be a string"],
    [
      open,
      '{"path":"a","line_start":0}',
      "repo_browser.open_file: line_start must be a whole number of 1 or more",
    ],
    [
      open,
      '{"path":"a","line_start":9,"line_end":3}',
      "repo_browser.open_file: line_end is before line_start",
    ],
    [patch, "{}", "repo_browser.apply_patch: missing patch"],
    [
      patch,
      "*** Begin Patch\n*** Delete File: a\n",
      "repo_browser.apply_patch: the arguments are no JSON object",
    ],
  ])("%#: %o %s", (tool, body, problem) => {
    expect(toClientCall(tool, body)).toEqual({ problem });
  });
});

test("a long pattern is passed on as it is, since to read it may take time that grows with its square", () => {
  const search = find(OPENCODE, "repo_browser.search");
  const long = "(".repeat(1025);
  const body = JSON.stringify({ path: "", query: long });
  expect(toClientCall(search, body)).toEqual({
    body: JSON.stringify({ pattern: long }),
    notes: [],
  });
  expect(toTrainedBody(search, JSON.stringify({ pattern: long }))).toBe(body);
});

describe("calls of the client that stay calls of a function", () => {
  const exec = find(CLAUDE_CODE, "container.exec");
  test.each([
    '{"command":"ls","description":"Lists"}',
    '{"command":"ls","run_in_background":true}',
    '{"command":""}',
    '{"command":"ls","timeout":600001}',
    '{"command":["ls"]}',
    "{}",
    "no JSON",
  ])("%s", (sent) => expect(toTrainedBody(exec, sent)).toBeUndefined());
});

describe("requests in which nothing is mapped", () => {
  const properties = { command: { type: "string" }, timeout: { type: "number" } };
  const shell = (change: Partial<AgentTool> = {}): AgentTool => ({
    name: "Bash",
    description: "Executes a given bash command.",
    parameters: { type: "object", properties, required: ["command"] },
    ...change,
  });
  const withProperty = (name: string, schema: object): AgentTool =>
    shell({
      parameters: {
        type: "object",
        properties: { ...properties, [name]: schema },
        required: ["command"],
      },
    });
  const ofName = (name: string): AgentTool => ({ name, description: "", parameters: {} });
  test.each<readonly [string, readonly AgentTool[]]>([
    ["no tools", []],
    ["two that fit, neither of the usual name", [shell({ name: "one" }), shell({ name: "two" })]],
    ["a tool called container.exec", [shell(), ofName("container.exec")]],
    ["a tool called container__exec", [shell(), ofName("container__exec")]],
    ["a tool called repo_browser", [shell(), ofName("repo_browser")]],
    ["PowerShell", [shell({ description: "Executes a given PowerShell command." })]],
    ["it says nothing of commands", [shell({ name: "robot", description: "Moves the arm." })]],
    [
      "another parameter is required",
      [shell({ parameters: { type: "object", properties, required: ["command", "timeout"] } })],
    ],
    ["the parameter is an enum", [withProperty("command", { type: "string", enum: ["ls"] })]],
    [
      "the timeout is in seconds",
      [withProperty("timeout", { type: "number", description: "In seconds." })],
    ],
    ["the parameter has another type", [withProperty("timeout", { type: "string" })]],
    ["a parameter whose type is elsewhere", [withProperty("command", { $ref: "#/x" })]],
    [
      "the parameter is a list of numbers",
      [withProperty("command", { type: "array", items: { type: "number" } })],
    ],
    ["the parameter is a list of anything", [withProperty("command", { type: "array" })]],
    ["no properties", [shell({ parameters: {} })]],
  ])("%s", (_, tools) => {
    const offered = toFunctions(tools);
    const trained = toTrainedTools("direct", offered, { type: "auto" });
    expect(trained).toEqual({
      namespaces: [],
      tools: [],
      unmapped: offered,
      functions: offered,
      toolChoice: { type: "auto" },
      ...(tools.length > 0 && { unwritten: new Set() }),
    });
  });

  test("a tool in a namespace, or one that a later request may lack", () => {
    for (const change of [{ namespace: { name: "mcp" } }, { isLater: true }]) {
      const offered = toFunctions([shell()]).map((each) => ({ ...each, ...change }));
      expect(toTrainedTools("direct", offered, { type: "auto" }).tools).toEqual([]);
    }
  });

  test("a namespace called container", () => {
    const offered = toFunctions([shell(), ofName("exec")]).map((each) =>
      each.name === "exec" ? { ...each, namespace: { name: "container" } } : each,
    );
    expect(toTrainedTools("direct", offered, { type: "auto" }).tools).toEqual([]);
  });

  test("two profiles fit alike", () => {
    const twins = PROFILES.flatMap((profile) => [profile, { ...profile, name: "other" }]);
    expect(findMatches(twins, toFunctions(CODEX))).toEqual([]);
  });

  test("the schema cannot be enforced: the tool stays a function, and no request is refused for it (N7)", () => {
    const allOf = [{ $ref: "https://example.com/none" }];
    const schema = { type: "object", properties, required: ["command"], allOf };
    const offered = toFunctions([shell({ parameters: schema })]);
    expect(toTrainedTools("direct", offered, { type: "auto" }).tools).toEqual([]);
  });
});

test("of two tools that fit, that of the usual name counts", () => {
  const [bash] = CLAUDE_CODE;
  expect(bash && mapped([{ ...bash, name: "Other" }, bash])).toEqual({ "container.exec": "Bash" });
});

test("no trained tool goes to one that can do more (N1)", () => {
  for (const { tools } of PROFILES) {
    for (const { trained, target } of tools) {
      expect(TOOL_CLASSES.indexOf(target)).toBeLessThanOrEqual(
        TOOL_CLASSES.indexOf(CLASS_OF[trained]),
      );
    }
  }
});

test("no profile writes what widens rights (N2), or makes a command of a path or a query (N3)", () => {
  const forbidden =
    /sandbox|justification|prefix_rule|permission|dangerous|background|^shell$|^login$|^tty$|escalated|reset/i;
  for (const { tools } of PROFILES) {
    for (const { trained, target, fields } of tools) {
      const written = fields.flatMap(({ writes }) => writes.map(({ name }) => name));
      expect(written.filter((name) => forbidden.test(name))).toEqual([]);
      expect(target === "exec").toBe(trained === "container.exec");
    }
  }
});

test("tool_choice names the trained tool for the client's, and none leaves both out", () => {
  const functions = toFunctions(OPENCODE);
  const choices = [
    { type: "required", names: ["read"] },
    { type: "allowed", names: ["bash", "edit"] },
  ] as const;
  const chosen = choices.map((choice) => toTrainedTools("direct", functions, choice).toolChoice);
  expect(chosen).toEqual([
    { type: "required", names: ["repo_browser.open_file", "repo_browser.list_dir"] },
    { type: "allowed", names: ["container.exec", "edit"] },
  ]);
  const none = toTrainedTools("direct", functions, { type: "none" });
  expect(none).toMatchObject({
    namespaces: [],
    tools: [],
    functions: [],
    toolChoice: { type: "none" },
  });
  expect(none.history).toBeDefined();
});

test("arguments of far too many values are refused before they are parsed", () => {
  const [shell] = match(CODEX);
  if (shell === undefined) throw new Error("no tool is mapped");
  const body = `{"command":[{}${",{}".repeat(400_000)}]}`;
  const parse = vi.spyOn(JSON, "parse");
  expect(toClientCall(shell.tool, body)).toEqual({
    problem: `${shell.tool.trained}: the arguments are no JSON object`,
  });
  expect(toTrainedBody(shell.tool, body)).toBeUndefined();
  expect(parse).not.toHaveBeenCalled();
  parse.mockRestore();
});
