/** `nameShield`: the model is shown other names, and every client keeps its own. */
import { hash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { CLAUDE_CODE } from "../api/trained/agents.ts";
import { createBrowsingApp } from "../helpers/browsing-app.ts";
import { createRecordedApp } from "../helpers/recorded-app.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";
import { spelledIds } from "../helpers/spelled.ts";
import {
  chat,
  CLIENTS,
  type Client,
  type Entry,
  FORMS,
  messages,
  MODEL,
  responses,
} from "./clients.ts";

const ASK: readonly Entry[] = [{ type: "user", text: "Go." }];
const FINAL = "<|channel|>final<|message|>Done.<|return|>";
const call = (recipient: string) =>
  ` to=${recipient}<|channel|>commentary json<|message|>{"code":"1"}<|call|>`;
const ON = { nameShield: "on" };

interface Asked {
  readonly entries?: readonly Entry[];
  readonly tools?: readonly string[];
  readonly fields?: object;
  readonly scripts?: readonly string[];
  readonly settings?: Readonly<Record<string, unknown>>;
}

async function ask(
  client: Client,
  { entries = ASK, tools = ["python", "f"], fields, scripts = [FINAL], settings = ON }: Asked,
) {
  const engine = scriptedEngine(scripts);
  const { post } = createBrowsingApp({ engine, toolbox: {}, settings });
  const response = await post(client.path, { ...client.toBody(entries, tools), ...fields });
  const text = await response.text();
  return { engine, response, text, prompt: engine.prompts[0] ?? "" };
}

const HISTORY: readonly Entry[] = [
  ...ASK,
  { type: "assistant", calls: [{ id: "call_1", name: "python", args: '{"code":"2"}' }] },
  { type: "result", id: "call_1", text: "2" },
];

describe("shown under another name", () => {
  test.each(FORMS)("$name: the client gets a call to its own", async ({ client, stream, read }) => {
    for (const recipient of ["functions.run_python", "functions.python", "run_python", "python"]) {
      const { text, prompt } = await ask(client, {
        fields: { stream },
        scripts: [call(recipient)],
      });
      expect(prompt).toContain("type run_python = (");
      expect(prompt).not.toMatch(/type python\b/);
      expect(read(text).choices[0]).toMatchObject({
        calls: [{ name: "python", args: '{"code":"1"}' }],
        finish: "tool-calls",
      });
    }
  });

  test.each(CLIENTS)("$name: so are earlier calls and their results", async (client) => {
    const { prompt } = await ask(client, { entries: HISTORY });
    expect(prompt).toContain("to=functions.run_python");
    expect(prompt).toContain("<|start|>functions.run_python to=assistant");
    expect(prompt).not.toContain("functions.python");
    const none = await ask(client, { entries: HISTORY, tools: [] });
    expect(none.prompt).toContain("to=functions.run_python");
  });

  test("a result of Chat Completions that names its function", async () => {
    const { prompt } = await ask(chat, {
      fields: {
        messages: [
          { role: "user", content: "Go." },
          { role: "assistant", content: null, function_call: { name: "python", arguments: "{}" } },
          { role: "function", name: "python", content: "2" },
        ],
      },
    });
    expect(prompt).toContain("<|start|>functions.run_python to=assistant");
    expect(prompt).not.toContain("functions.python");
  });

  test.each([
    { client: chat, choice: { type: "function", function: { name: "python" } } },
    { client: responses, choice: { type: "function", name: "python" } },
    { client: messages, choice: { type: "tool", name: "python" } },
  ])("$client.name: a forced call, by the client's name", async ({ client, choice }) => {
    const { engine, text } = await ask(client, {
      fields: { tool_choice: choice },
      scripts: ["<|channel|>analysis<|message|>Hm.<|end|>", '{"code":"1"}<|call|>'],
    });
    expect(engine.prompts[1]).toMatch(/ to=functions\.run_python<\|channel\|>commentary .*$/);
    expect(client.readReply(JSON.parse(text)).calls).toMatchObject([{ name: "python" }]);
  });

  test.each([chat, responses])(
    "$name: allowed tools; the model reads no other names",
    async (client) => {
      const f =
        client === chat
          ? { type: "function", function: { name: "f" } }
          : { type: "function", name: "f" };
      const python =
        client === chat
          ? { type: "function", function: { name: "bash" } }
          : { type: "function", name: "bash" };
      const list = { mode: "auto", tools: [f, python] };
      const { engine, text } = await ask(client, {
        tools: ["python", "bash", "f"],
        fields: {
          tool_choice:
            client === chat
              ? { type: "allowed_tools", allowed_tools: list }
              : { type: "allowed_tools", ...list },
        },
        scripts: [call("functions.run_python"), call("functions.run_bash")],
      });
      expect(engine.prompts[1]).toContain(
        'Error: the function "run_python" cannot be called now. Functions: run_bash, f.',
      );
      expect(client.readReply(JSON.parse(text)).calls).toMatchObject([{ name: "bash" }]);
    },
  );

  test("a call that does not satisfy a strict schema fails with the client's name", async () => {
    const tool = {
      type: "function",
      function: {
        name: "python",
        strict: true,
        parameters: { type: "object", required: ["x"], properties: { x: { type: "number" } } },
      },
    };
    const { text, engine } = await ask(chat, {
      fields: { tools: [tool] },
      scripts: [call("functions.run_python"), '{"y":1}<|call|>'],
    });
    expect(engine.prompts[1]).toMatch(/functions\.run_python<\|channel\|>commentary .*$/);
    expect(text).toContain("The arguments of python do not satisfy its schema");
    expect(text).not.toContain("run_python");
  });

  test.each(CLIENTS)("$name: what was sampled goes back as it was", async (client) => {
    const engine = scriptedEngine([call("functions.run_python"), FINAL]);
    const { post } = createBrowsingApp({
      engine,
      toolbox: {},
      settings: { ...ON, layout: "guide" },
    });
    const first = await post(client.path, client.toBody(ASK, ["python"]));
    const { calls } = client.readReply(await first.json());
    const [made] = calls;
    await post(
      client.path,
      client.toBody(
        [...ASK, { type: "assistant", calls }, { type: "result", id: made?.id ?? "", text: "1" }],
        ["python"],
      ),
    );
    const [before, after] = engine.requests.map(({ prompt }) => prompt.ids);
    const exact = [...(before ?? []), ...spelledIds(call("functions.run_python"))];
    expect(after?.slice(0, exact.length)).toEqual(exact);
  });

  test.each(["own", "flat"])("Responses, %s: a namespace that the model knows", async (style) => {
    const { prompt, text } = await ask(responses, {
      tools: ["browser.search", "f"],
      settings: { ...ON, toolNamespaces: style },
      scripts: [call(style === "own" ? "web_browser.search" : "functions.web_browser__search")],
    });
    expect(prompt).toContain(
      style === "own" ? "namespace web_browser {" : "type web_browser__search",
    );
    expect(responses.readReply(JSON.parse(text)).calls).toMatchObject([{ name: "browser.search" }]);
    expect(text).toContain('"namespace":"browser"');
  });

  test("Responses: a custom tool for patches keeps its name, and one for code does not", async () => {
    const custom = (name: string) => ({ type: "custom", name });
    const { prompt, text } = await ask(responses, {
      fields: { tools: [custom("apply_patch"), custom("python")] },
      scripts: [" to=functions.run_python<|channel|>commentary<|message|>print(1)<|call|>"],
    });
    expect(prompt).toContain("type apply_patch = (");
    expect(prompt).toContain("type run_python = (");
    expect(JSON.parse(text)).toMatchObject({
      output: [{ type: "custom_tool_call", name: "python", input: "print(1)" }],
    });
  });

  test("Responses: tools that the input adds, and the result of the search that found them", async () => {
    const found = { type: "function", name: "shell", parameters: { type: "object" } };
    const { prompt } = await ask(responses, {
      fields: {
        input: [
          { role: "user", content: "Go." },
          { type: "tool_search_call", call_id: "c", execution: "client", arguments: {} },
          {
            type: "tool_search_output",
            call_id: "c",
            execution: "client",
            status: "completed",
            tools: [found],
          },
        ],
      },
    });
    expect(prompt).toContain("Tools found: functions.run_shell");
    expect(prompt).toContain("type run_shell = (");
    expect(prompt).not.toMatch(/type shell\b/);
  });
});

test("a tool that is shown in trained form needs no shield, and the others keep theirs", async () => {
  const bash = CLAUDE_CODE.filter(({ name }) => name === "Bash");
  const tools = [...bash, { name: "python", parameters: { type: "object" } }].map((each) => ({
    type: "function",
    function: each,
  }));
  const settings = { ...ON, trainedTools: "direct" };
  const { prompt, text } = await ask(chat, {
    fields: { tools },
    settings,
    scripts: [
      '<|channel|>analysis to=container.exec code<|message|>{"command":["bash","-lc","ls"]}<|call|>',
    ],
  });
  expect(prompt).toContain("namespace container {");
  expect(prompt).toContain("type run_python = ");
  expect(prompt).not.toMatch(/run_bash|type (?:Bash|python)\b/);
  expect(chat.readReply(JSON.parse(text)).calls).toMatchObject([
    { name: "Bash", args: '{"command":"ls"}' },
  ]);
});

describe("off, or with nothing to shield", () => {
  test.each(CLIENTS)("$name: prompts are the same, id by id", async (client) => {
    const ids = async (asked: Asked) =>
      (await ask(client, asked)).engine.requests.map(({ prompt }) => [...prompt.ids]);
    const own = { entries: HISTORY, tools: ["python", "bash"] };
    const plain = await ids({ ...own, settings: {} });
    expect(await ids({ ...own, settings: { nameShield: "off" } })).toEqual(plain);
    expect(await ids(own)).not.toEqual(plain);
    const entries = HISTORY.slice(0, 1);
    const other = { entries, tools: ["f", "python_exec", "bash_2"] };
    expect(await ids(other)).toEqual(await ids({ ...other, settings: {} }));
  });
});

describe("who has it on", () => {
  const keys = async (own: object) => [
    { name: "alice", sha256: hash("sha256", "sk-alice"), ...own },
    { name: "bob", sha256: hash("sha256", "sk-bob") },
  ];
  const presets = { shielded: { model: MODEL, nameShield: "on" } };

  async function isShielded(settings: object, key: string, model: string) {
    const shields: boolean[] = [];
    for (const client of CLIENTS) {
      const engine = scriptedEngine([FINAL]);
      const { send } = createBrowsingApp({ engine, toolbox: {}, settings: { ...settings } });
      const response = await send(`http://localhost${client.path}`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
        body: JSON.stringify({ ...client.toBody(ASK, ["python"]), model }),
      });
      expect(response.status).toBe(200);
      shields.push((engine.prompts[0] ?? "").includes("type run_python"));
    }
    expect(new Set(shields).size).toBe(1);
    return shields[0];
  }

  test("a key's own value wins over a preset's, and that over the general one", async () => {
    const settings = { keys: await keys({ nameShield: "off" }), presets, nameShield: "off" };
    expect(await isShielded(settings, "sk-bob", MODEL)).toBe(false);
    expect(await isShielded(settings, "sk-bob", "shielded")).toBe(true);
    expect(await isShielded(settings, "sk-alice", "shielded")).toBe(false);
    const on = { ...settings, keys: await keys({ nameShield: "on" }) };
    expect(await isShielded(on, "sk-alice", MODEL)).toBe(true);
    expect(await isShielded(on, "sk-bob", MODEL)).toBe(false);
    expect(await isShielded({ ...on, nameShield: "on" }, "sk-bob", MODEL)).toBe(true);
  });
});

test.each(CLIENTS)("$name: the record says under which name a tool was shown", async (client) => {
  const app = createRecordedApp({
    engine: scriptedEngine([call("functions.run_python")]),
    settings: ON,
  });
  await app.post(client.path, client.toBody(ASK, ["python", "f"]));
  const [record] = await app.records();
  expect(record?.settings).toMatchObject({
    tools: ["python", "f"],
    shownTools: [{ name: "python", as: "run_python" }],
  });
  const called = record?.parts.find(({ kind }) => kind === "tool-call");
  expect(called).toMatchObject({ name: "python", sent: true });
});
