import { createHash } from "node:crypto";
import type { Beta } from "@anthropic-ai/sdk/resources/beta";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { CompletionRequest } from "../../../src/index.ts";
import { lazyGateway, ON_WORKERS } from "../../helpers/gateway.ts";
import {
  type Script,
  scriptedEngine,
  type ScriptedOptions,
} from "../../helpers/scripted-engine.ts";
import { analysisIn } from "../../helpers/tool-loop.ts";
import { MODEL, post, readEvents, seal, SEALING_KEY, tamperedSeal } from "./support.ts";

const ANSWER = "<|channel|>final<|message|>Done.<|return|>";
const ANALYSIS = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant";
const CALL = '<|channel|>commentary to=functions.step <|constrain|>json<|message|>{"n":1}<|call|>';

const STEP = {
  name: "step",
  input_schema: { type: "object", properties: { n: { type: "integer" } } },
};
const HELLO = { role: "user", content: "Hello" };

function gatewayWith(
  scripts: Parameters<typeof scriptedEngine>[0],
  settings: Readonly<Record<string, unknown>> = {},
  options?: ScriptedOptions,
) {
  const engine = scriptedEngine(scripts, options);
  const { fetch } = lazyGateway({
    models: [{ id: MODEL, engine, contextLength: 10_000 }],
    settings: { sealingKeys: [SEALING_KEY], ...settings },
  });
  const send = (body: object, headers?: Record<string, string>) =>
    fetch(
      "/v1/messages",
      post({ model: MODEL, max_tokens: 100, messages: [HELLO], ...body }, headers),
    );
  const count = async (body: object) => {
    const response = await fetch(
      "/v1/messages/count_tokens",
      post({ model: MODEL, messages: [HELLO], ...body }),
    );
    return countBody.parse(await response.json()).input_tokens;
  };
  return { engine, fetch, send, count };
}

const countBody = z.object({ input_tokens: z.number() });
const errorBody = z.object({ error: z.object({ type: z.string(), message: z.string() }) });

async function errorOf(response: Response) {
  return { status: response.status, ...errorBody.parse(await response.json()).error };
}

/** The prompt for a body. */
async function promptOf(body: object, settings?: Readonly<Record<string, unknown>>) {
  const { engine, send } = gatewayWith(() => ANSWER, settings);
  const response = await send(body);
  expect(response.status).toBe(200);
  return { prompt: engine.prompts[0] ?? "", headers: response.headers };
}

/** A loop of one step, with these blocks before the call in its assistant message. */
function loop(...blocks: readonly object[]) {
  return {
    tools: [STEP],
    messages: [
      HELLO,
      {
        role: "assistant",
        content: [...blocks, { type: "tool_use", id: "call_1", name: "step", input: { n: 1 } }],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "call_1", content: "ok" }] },
    ],
  };
}

describe("keys", () => {
  const sha256 = createHash("sha256").update("secret").digest("hex");
  const keys = [{ name: "me", sha256 }];

  test.each<{ name: string; headers: Record<string, string>; status: number }>([
    { name: "x-api-key", headers: { "x-api-key": "secret" }, status: 200 },
    { name: "a bearer token", headers: { authorization: "Bearer secret" }, status: 200 },
    {
      name: "both, of which one is known",
      headers: { "x-api-key": "from the environment", authorization: "Bearer secret" },
      status: 200,
    },
    { name: "none", headers: {}, status: 401 },
    { name: "an unknown one", headers: { "x-api-key": "guess" }, status: 401 },
  ])("$name: $status", async ({ headers, status }) => {
    const { send } = gatewayWith([ANSWER], { keys });
    const response = await send({}, headers);
    expect(response.status).toBe(status);
    expect(response.headers.get("request-id")).toMatch(/^req_/);
    const refused = errorBody.safeParse(await response.json()).data?.error.type;
    expect(refused).toBe(status === 401 ? "authentication_error" : undefined);
  });
});

describe("addresses", () => {
  test("models have Anthropic's shape for clients that name its version, and OpenAI's for others", async () => {
    const { fetch } = gatewayWith([]);
    const headers = { "anthropic-version": "2023-06-01" };
    const list = await fetch("/v1/models?limit=1000", { headers });
    expect(await list.json()).toMatchObject({
      data: [{ type: "model", id: MODEL, max_input_tokens: 10_000, lifecycle: "active" }],
      has_more: false,
      first_id: MODEL,
    });
    expect(await (await fetch("/v1/models")).json()).toMatchObject({ object: "list" });
    expect(await errorOf(await fetch("/v1/models/nope", { headers }))).toMatchObject({
      status: 404,
      type: "not_found_error",
    });
  });

  test.each([
    ["/v1/v1/messages", "POST", 404, "/v1 twice"],
    ["/v1/messages/batches", "POST", 404, "message batches"],
    ["/v1/complete", "POST", 404, "text completions"],
    ["/v1/files", "GET", 404, "No files are kept here"],
    ["/v1/messages", "GET", 405, "POST"],
  ])("%s by %s: %i", async (path, method, status, words) => {
    const { fetch } = gatewayWith([]);
    const headers = { "anthropic-version": "2023-06-01" };
    const error = await errorOf(await fetch(path, { method, headers }));
    expect(error.status).toBe(status);
    expect(error.message).toContain(words);
  });

  test.each(["/v1/chat/completions", "/v1/responses", "/v1/conversations"])(
    "errors of %s are OpenAI's, whatever the headers name",
    async (path) => {
      const { fetch } = gatewayWith([]);
      const headers = { "anthropic-version": "2023-06-01", "content-type": "application/json" };
      const response = await fetch(path, { method: "POST", headers, body: "{" });
      expect(response.status).toBe(400);
      const body: unknown = await response.json();
      expect(body).not.toHaveProperty("type");
      expect(body).toHaveProperty("error.message");
    },
  );

  test("HEAD and GET of the root are not server errors", async () => {
    const { fetch } = gatewayWith([]);
    expect((await fetch("/", { method: "HEAD" })).status).toBeLessThan(500);
    expect((await fetch("/")).status).toBeLessThan(500);
  });
});

describe("names of Claude models", () => {
  const ask = async (model: string, settings: Readonly<Record<string, unknown>>) => {
    const { send } = gatewayWith([ANSWER], settings);
    return send({ model });
  };

  test("are unknown, with a hint, until the operator maps them", async () => {
    const error = await errorOf(await ask("claude-opus-5-5", {}));
    expect(error).toMatchObject({ status: 404, type: "not_found_error" });
    expect(error.message).toMatch(/^model: claude-opus-5-5.*claudeAliases/);
  });

  test("map to the model that the setting names, and are echoed", async () => {
    const response = await ask("claude-opus-5-5", { claudeAliases: [MODEL] });
    expect(await response.json()).toMatchObject({ model: "claude-opus-5-5" });
    const haiku = { claudeAliases: [`claude-haiku-*=${MODEL}`] };
    expect((await ask("claude-haiku-4-5", haiku)).status).toBe(200);
    expect((await ask("claude-opus-5-5", haiku)).status).toBe(404);
  });
});

describe("the prompt", () => {
  test("has no billing header, in blocks, in a string or in a system message", async () => {
    const header = "x-anthropic-billing-header: cc_version=1;";
    const { prompt } = await promptOf({
      system: `${header}\nRules`,
      messages: [HELLO, { role: "system", content: [{ type: "text", text: header }] }],
    });
    expect(prompt).not.toContain("billing");
    expect(prompt).toContain("# Instructions\n\nRules<|end|>");
  });

  test("has the effort of the last system message that sets one, with content or without", async () => {
    const set = (effort: "low" | "xhigh", content?: string): Beta.BetaMessageParam => ({
      role: "system",
      output_config: { effort },
      ...(content !== undefined && { content }),
    });
    const output_config = { effort: "medium" };
    for (const [messages, used] of [
      [[HELLO], "medium"],
      [[HELLO, set("low")], "low"],
      [[HELLO, set("low", "Be quick."), HELLO, set("xhigh"), HELLO], "high"],
      [[HELLO, { role: "system", content: "Be brief.", output_config: {} }], "medium"],
      [[HELLO, { role: "system", output_config: { effort: "extreme" } }], "high"],
    ] as const) {
      const { prompt, headers } = await promptOf({ output_config, messages });
      expect(headers.get("x-harmony-reasoning-effort")).toBe(used);
      expect(prompt).toContain(`Reasoning: ${used}`);
    }
  });

  test("has a reminder that is cleared at the user's next message until then", async () => {
    const reminder: Beta.BetaMessageParam = {
      role: "system",
      content: "Mind the time.",
      clear_at: "next_user_message",
    };
    const answer = { role: "assistant", content: "Yes." };
    const kept = { ...reminder, clear_at: "never" };
    const promptsOf = async (...messages: object[]) => (await promptOf({ messages })).prompt;
    expect(await promptsOf(HELLO, reminder)).toContain("Mind the time.");
    expect(await promptsOf(HELLO, reminder, answer)).toContain("Mind the time.");
    expect(await promptsOf(HELLO, reminder, answer, HELLO)).not.toContain("Mind the time.");
    expect(await promptsOf(HELLO, kept, answer, HELLO)).toContain("Mind the time.");
  });

  describe("of a conversation that changes its tools", () => {
    const other = { ...STEP, name: "other", description: "Does it." };
    const change = (
      type: "tool_addition" | "tool_removal",
      tool: Beta.BetaRequestToolAdditionBlock["tool"],
    ) => ({ role: "system", content: [{ type, tool }] });
    const define = (definition: Beta.BetaToolUnion) =>
      change("tool_addition", { type: "tool_definition", definition });
    const name = (tool: string) => ({ type: "tool_reference", name: tool }) as const;
    const callOf = (tool: string) =>
      `<|channel|>commentary to=functions.${tool} <|constrain|>json<|message|>{"n":1}<|call|>`;
    const EXTRA = { name: "extra", input_schema: { type: "object", properties: {} } } as const;

    test("has a tool that a message defines from there on, and the model may call it", async () => {
      const { engine, send } = gatewayWith([callOf("extra")]);
      const response = await send({ tools: [STEP], messages: [HELLO, define(EXTRA)] });
      expect(engine.prompts[0]).toMatch(
        /type step =[^]*Hello<\|end\|><\|start\|>developer<\|message\|># Tools[^]*type extra =/,
      );
      expect(response.headers.get("x-harmony-skipped")).toBe(null);
      expect(await response.json()).toMatchObject({
        content: [{}, { type: "tool_use", name: "extra", input: { n: 1 } }].slice(-1),
        stop_reason: "tool_use",
      });
    });

    test("can force such a tool, or none", async () => {
      const messages = [HELLO, define(EXTRA)];
      const forced = gatewayWith(() => "{}<|call|>");
      await forced.send({ messages, tool_choice: { type: "tool", name: "extra" } });
      expect(forced.engine.requests.length).toBeGreaterThan(0);
      const { prompt } = await promptOf({ messages, tool_choice: { type: "none" } });
      expect(prompt).not.toContain("type extra =");
    });

    test("keeps the first definition of a name, and names what it cannot read", async () => {
      const web = { type: "web_search_20250305", name: "web_search" } as const;
      const { prompt, headers } = await promptOf({
        tools: [other],
        messages: [
          HELLO,
          define({ ...EXTRA, name: "other" }),
          define(web),
          define({ ...EXTRA, name: "" }),
        ],
      });
      expect(prompt?.match(/type other =/g)).toHaveLength(1);
      expect(headers.get("x-harmony-skipped")).toBe("tool_addition, web_search_20250305");
    });

    test("says which tool is removed, keeps its prefix, and the model's call of it is refused", async () => {
      const { engine, send } = gatewayWith([callOf("other"), ANSWER]);
      const removed = [HELLO, change("tool_removal", name("other"))];
      const response = await send({ tools: [STEP, other], messages: removed });
      expect(engine.prompts[0]).toContain("type other =");
      expect(engine.prompts[0]).toContain(
        "From here on, the tool other is not available any more.",
      );
      expect(await response.text()).not.toContain('"tool_use"');
      const named = await send({
        tools: [STEP, other],
        messages: removed,
        tool_choice: { type: "tool", name: "other" },
      });
      expect(named.status).toBe(400);
    });

    test("has as many as a request may have", async () => {
      const messages = [HELLO, ...["a", "b", "c"].map((each) => define({ ...EXTRA, name: each }))];
      const { prompt, headers } = await promptOf({ tools: [STEP], messages }, { maxTools: 3 });
      expect(prompt).toMatch(/type a =[^]*type b =/);
      expect(prompt).not.toContain("type c =");
      expect(headers.get("x-harmony-skipped")).toBe("tool_addition");
    });

    test("offers a tool again that is added again", async () => {
      const { engine, send } = gatewayWith([callOf("other")]);
      const back = change("tool_addition", name("other"));
      const messages = [HELLO, change("tool_removal", name("other")), HELLO, back];
      const response = await send({ tools: [STEP, other], messages });
      expect(engine.prompts[0]).toContain("the tool other is available again.");
      expect(await response.text()).toContain('"tool_use"');
    });
  });

  test("shows a deferred tool only if it is forced", async () => {
    const deferred = [
      { ...STEP, defer_loading: true },
      { ...STEP, name: "other", defer_loading: true },
    ];
    const { engine, send } = gatewayWith(({ prompt }) =>
      prompt.text().endsWith("<|message|>") ? '{"n":1}<|call|>' : CALL,
    );
    await send({ tools: deferred, tool_choice: { type: "tool", name: "step" } });
    expect(engine.prompts[0]).toContain("type step =");
    expect(engine.prompts[0]).not.toContain("type other =");
  });

  test("tells the model if only server tools of Anthropic were offered", async () => {
    const tools = [{ type: "web_search_20250305", name: "web_search", max_uses: 8 }];
    const { prompt, headers } = await promptOf({ tools });
    expect(prompt).toContain("Not available here: web_search.");
    expect(headers.get("x-harmony-skipped")).toBe("web_search_20250305");
  });

  test("leaves out blocks of other models, and reports them", async () => {
    const { prompt, headers } = await promptOf({
      messages: [
        HELLO,
        {
          role: "assistant",
          content: [
            { type: "server_tool_use", id: "s", name: "web_search", input: {} },
            { type: "web_search_tool_result", tool_use_id: "s", content: [] },
            { type: "text", text: "Answer." },
            { type: "of next\nweek" },
          ],
        },
        HELLO,
      ],
    });
    expect(prompt).toContain("<|channel|>final<|message|>Answer.<|end|>");
    expect(headers.get("x-harmony-skipped")).toBe("other, server_tool_use, web_search_tool_result");
  });

  test("keeps the key order and number spelling of a call's arguments", async () => {
    const { engine, fetch } = gatewayWith([ANSWER]);
    const body = JSON.stringify({ model: MODEL, max_tokens: 9, ...loop() });
    const input = '{"10": 1, "2": 12345678901234567890, "x": 1.50}';
    await fetch("/v1/messages", {
      method: "POST",
      body: body.replace('"input":{"n":1}', `"input":${input}`),
    });
    expect(engine.prompts[0]).toContain('{"10":1,"2":12345678901234567890,"x":1.5');
  });

  test("continues a prefill, including its white space", async () => {
    const { engine, send, count } = gatewayWith(() => "two<|return|>");
    const messages = [HELLO, { role: "assistant", content: "one " }];
    const response = await send({ messages });
    expect(engine.prompts[0]).toMatch(/<\|channel\|>final<\|message\|>one $/);
    expect(await response.json()).toMatchObject({ content: [{ type: "text", text: "two" }] });
    expect(await count({ messages })).toBe(engine.requests[0]?.prompt.ids.length);
  });

  test("is counted including the opened header, for every kind of request", async () => {
    for (const body of [
      { thinking: { type: "disabled" } },
      { thinking: { type: "disabled" }, tools: [STEP], tool_choice: { type: "any" } },
      { ...loop(), output_config: { effort: "high" } },
      { output_config: { format: { type: "json_schema", schema: { type: "object" } } } },
    ]) {
      const { engine, send, count } = gatewayWith(() => ({ write: [], finish: "length" as const }));
      await send(body);
      expect(await count(body)).toBe(engine.requests[0]?.prompt.ids.length);
    }
  });
});

describe("thinking that is sent back", () => {
  const thinking = (signature: string, text = "") => ({
    type: "thinking",
    thinking: text,
    signature,
  });

  test("keeps its position between texts and calls", async () => {
    const call = (id: string, n: number) => ({ type: "tool_use", id, name: "step", input: { n } });
    const { prompt, headers } = await promptOf({
      tools: [STEP],
      messages: [
        HELLO,
        {
          role: "assistant",
          content: [
            thinking(await seal("One.")),
            { type: "text", text: "First." },
            thinking(await seal("Two.")),
            call("a", 1),
            thinking(await seal("Three.")),
            call("b", 2),
          ],
        },
        {
          role: "user",
          content: ["a", "b"].map((id) => ({
            type: "tool_result",
            tool_use_id: id,
            content: "ok",
          })),
        },
      ],
    });
    const said = prompt.match(/One\.|First\.|Two\.|\{"n":1\}|Three\.|\{"n":2\}/g);
    expect(said).toEqual(["One.", "First.", "Two.", '{"n":1}', "Three.", '{"n":2}']);
    expect(headers.get("x-harmony-cot")).toBe("sealed");
  });

  test.each([
    ["an altered signature and a readable text", () => tamperedSeal("Kept."), "Seen.", "sent"],
    ["another tenant's signature", () => seal("Kept.", "bob"), "", "lost"],
    ["a signature of Anthropic's", () => Promise.resolve("EqQBCkYIBxgCKkAbb64"), "Seen.", "sent"],
    ["no signature", () => Promise.resolve(""), "", "lost"],
  ])("%s are no reason to refuse", async (_, signature, text, outcome) => {
    const { prompt, headers } = await promptOf(loop(thinking(await signature(), text)));
    expect(analysisIn(prompt)).toEqual(text === "" ? [] : [text]);
    expect(headers.get("x-harmony-cot")).toBe(outcome);
  });
});

describe("request options", () => {
  test("a limit beyond the context is lowered, and 0 asks for the prompt to be cached", async () => {
    const { engine, send } = gatewayWith([ANSWER, ANSWER]);
    expect((await send({ max_tokens: 128_000 })).status).toBe(200);
    expect(engine.requests[0]?.maxTokens).toBeLessThan(10_000);
    expect(await (await send({ max_tokens: 0 })).json()).toMatchObject({
      content: [],
      stop_reason: "max_tokens",
    });
  });

  test("more than four stop sequences are searched for", async () => {
    const { send } = gatewayWith(["<|channel|>final<|message|>one six two<|return|>"]);
    const stop = ["1", "2", "3", "4", "5", "six"];
    expect(await (await send({ stop_sequences: stop })).json()).toMatchObject({
      content: [{ type: "text", text: "one " }],
      stop_reason: "stop_sequence",
      stop_sequence: "six",
    });
  });

  test("a budget for thinking is kept, and unknown betas, fields and kinds of thinking are ignored", async () => {
    const { engine, send } = gatewayWith([ANSWER]);
    const response = await send(
      {
        thinking: { type: "of_next_week", display: "updates" },
        context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
        metadata: { user_id: "{}" },
        cache_control: { type: "ephemeral" },
      },
      { "anthropic-beta": "context-1m-2025-08-07,of-next-week" },
    );
    expect(response.status).toBe(200);
    expect(engine.prompts[0]).toContain("Reasoning: medium");
  });

  test("server tools are refused if configured", async () => {
    const { send } = gatewayWith([], { unsupportedTools: "refuse" });
    const error = await errorOf(await send({ tools: [{ type: "bash_20250124", name: "bash" }] }));
    expect(error).toMatchObject({ status: 400, type: "invalid_request_error" });
    expect(error.message).toContain("tools[0].type");
  });

  test("limits of a request hold here as well", async () => {
    const { send } = gatewayWith([], { maxMessages: 2 });
    const error = await errorOf(await send({ messages: [HELLO, HELLO, HELLO] }));
    expect(error).toMatchObject({ status: 400, type: "invalid_request_error" });
  });
});

describe("a request that the model does not satisfy", () => {
  const strict = { tools: [{ ...STEP, strict: true }] };
  const wrong: Script =
    '<|channel|>commentary to=functions.step <|constrain|>json<|message|>{"n":"x"}<|call|>';

  test("is an error in a plain reply", async () => {
    const { send } = gatewayWith(({ prompt }) =>
      prompt.text().endsWith("<|message|>") ? '{"n":"x"}<|call|>' : wrong,
    );
    expect(await errorOf(await send(strict))).toMatchObject({ status: 502, type: "api_error" });
  });

  /** The events of a stream, with consecutive ones of one kind merged. */
  async function eventsWith(options: ScriptedOptions): Promise<string[]> {
    const script = ({ prompt }: CompletionRequest) =>
      prompt.text().endsWith("<|message|>") ? '{"n":"x"}<|call|>' : wrong;
    const { send } = gatewayWith(script, {}, options);
    const response = await send({ ...strict, stream: true });
    const events = readEvents(await response.text()).map(({ event }) => event);
    return events.filter((event, index) => event !== events[index - 1]);
  }

  // In workerd every engine is connected as vLLM, which enforces schemas.
  test.skipIf(ON_WORKERS)(
    "is an event that ends the stream (skipped where the runtime is workerd)",
    async () => {
      expect(await eventsWith({})).toEqual(["message_start", "error"]);
    },
  );

  test("is an event after what was streamed, if the engine has broken its own constraint", async () => {
    expect(await eventsWith({ capabilities: { constraints: ["json-schema"] } })).toEqual([
      "message_start",
      "content_block_start",
      "content_block_delta",
      "content_block_stop",
      "error",
    ]);
  });
});

describe("streams", () => {
  test("are kept open by pings", async () => {
    const { send } = gatewayWith([{ write: ANALYSIS, hang: true }], { keepAliveMs: 5 });
    const response = await send({ stream: true });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes("event: ping\n")) text += (await reader?.read())?.value ?? "";
    await reader?.cancel();
    expect(text).toContain('event: ping\ndata: {"type": "ping"}\n\n');
  });

  test("return thinking after a call even if thinking was not requested", async () => {
    const completion =
      `${ANALYSIS}${CALL.replace("<|call|>", "<|end|>")}<|start|>assistant` +
      "<|channel|>analysis<|message|>And on.<|end|>";
    const { send } = gatewayWith([completion, completion]);
    const kinds = ["thinking", "tool_use", "thinking"];
    const plain = z
      .object({ content: z.array(z.looseObject({ type: z.string() })) })
      .parse(await (await send({ tools: [STEP] })).json());
    expect(plain.content.map(({ type }) => type)).toEqual(kinds);
    const events = readEvents(await (await send({ tools: [STEP], stream: true })).text());
    const started = events.filter(({ event }) => event === "content_block_start");
    expect(
      started.map(({ data }) => z.object({ type: z.string() }).parse(data["content_block"]).type),
    ).toEqual(kinds);
  });
});
