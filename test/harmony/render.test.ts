import { describe, expect, test } from "vitest";
import {
  createRenderer,
  HarmonyRenderError,
  type Message,
  type RenderedPrompt,
  type ToolNamespace,
} from "../../src/harmony/index.ts";
import { o200kHarmony } from "../../src/tokenizer/index.ts";
import { countingTokenizer } from "./counting-tokenizer.ts";

const renderer = createRenderer();
const decode = (ids: readonly number[]) => o200kHarmony().decode(ids);

const namespaces: readonly ToolNamespace[] = [
  { key: "functions", name: "functions", functions: [{ name: "now", description: "" }] },
];
const header = {
  recipient: "functions.now",
  channel: "commentary",
  contentType: "<|constrain|>json",
};
const call: Message = { role: "assistant", ...header, content: "{}" };
const conversation: readonly Message[] = [
  { role: "system", content: [{ type: "system", effort: "low", channels: ["final"] }] },
  { role: "developer", content: [{ type: "developer", namespaces }] },
  { role: "user", content: "What time is it?" },
  { role: "assistant", channel: "analysis", content: "I should ask." },
  call,
  {
    role: "tool",
    name: "functions.now",
    recipient: "assistant",
    channel: "commentary",
    content: "noon",
  },
];

const toText = (prompt: RenderedPrompt) => Buffer.concat(prompt.idsJson()).toString();

describe("a rendered prompt", () => {
  test("has a segment for each message and one for the header it opens", () => {
    const prompt = renderer.renderCompletion({ messages: conversation });
    expect(
      prompt.segments.map((segment) => segment.type === "rendered" && segment.message),
    ).toEqual([...conversation, undefined]);
    expect(prompt.segments.at(-1)).toMatchObject({ length: 2 });
    const lengths = prompt.segments.map((segment) => segment.length);
    expect(lengths.reduce((sum, length) => sum + length)).toBe(prompt.length);
    expect(prompt.ids).toHaveLength(prompt.length);
  });

  test("its segments are the ids of its messages", () => {
    const prompt = renderer.renderConversation({ messages: conversation });
    const joined = prompt.segments.flatMap((segment) =>
      segment.type === "rendered"
        ? segment.pieces.flatMap((piece) => Array.from(piece.ids))
        : segment.ids,
    );
    expect(joined).toEqual(prompt.ids);
  });

  test("gives its ids as JSON, each after a comma", () => {
    const prompt = renderer.renderCompletion({ messages: conversation });
    expect(toText(prompt)).toBe(prompt.ids.map((id) => `,${id}`).join(""));
    expect(renderer.renderConversation({ messages: [] }).idsJson()).toEqual([]);
  });

  test("joins each form once", () => {
    const prompt = renderer.renderCompletion({ messages: conversation });
    expect(prompt.ids).toBe(prompt.ids);
  });

  test("grows by ids without changing", () => {
    const prompt = renderer.renderStart("assistant");
    const sampled = [200005, 17196, 200008];
    const grown = prompt.append(sampled);
    sampled.length = 0;
    expect(prompt.ids).toEqual([200006, 173781]);
    expect(grown.ids).toEqual([200006, 173781, 200005, 17196, 200008]);
    expect(toText(grown)).toBe(",200006,173781,200005,17196,200008");
    expect(grown.length).toBe(5);
    expect(grown.text()).toBe("<|start|>assistant<|channel|>final<|message|>");
    expect(grown.append([])).toBe(grown);
  });
});

describe("modes", () => {
  test("a completion opens the next role, by default the assistant", () => {
    const all = renderer.renderConversation({ messages: conversation }).ids;
    const messages = conversation;
    expect(renderer.renderCompletion({ messages }).ids).toEqual([...all, 200006, 173781]);
    expect(renderer.renderCompletion({ messages }, "user").ids).toEqual([...all, 200006, 1428]);
    expect(decode(renderer.renderCompletion({ messages: [] }, "tool").ids)).toBe("<|start|>tool");
  });

  test.each<[string, readonly Message[], string]>([
    ["nothing", [], ""],
    [
      "an answer",
      [{ role: "assistant", channel: "final", content: "x" }],
      "<|start|>assistant<|channel|>final<|message|>x<|return|>",
    ],
    [
      "a call on final",
      [{ ...call, channel: "final" }],
      "<|start|>assistant to=functions.now<|channel|>final <|constrain|>json<|message|>{}<|return|>",
    ],
    [
      "a call",
      [call],
      "<|start|>assistant to=functions.now<|channel|>commentary <|constrain|>json<|message|>{}<|call|>",
    ],
    [
      "analysis",
      [{ role: "assistant", channel: "analysis", content: "x" }],
      "<|start|>assistant<|channel|>analysis<|message|>x<|end|>",
    ],
    [
      "a user on final",
      [{ role: "user", channel: "final", content: "x" }],
      "<|start|>user<|channel|>final<|message|>x<|end|>",
    ],
    [
      "two answers",
      [
        { role: "assistant", channel: "final", content: "x" },
        { role: "assistant", channel: "final", content: "y" },
      ],
      "<|start|>assistant<|channel|>final<|message|>x<|end|><|start|>assistant<|channel|>final<|message|>y<|return|>",
    ],
  ])("training on %s", (_, messages, text) => {
    expect(decode(renderer.renderTraining({ messages }).ids)).toBe(text);
  });

  test("mode training renders the same ids as the conversation except the last one", () => {
    const messages = [
      ...conversation,
      { role: "assistant", channel: "final", content: "Noon." },
    ] as const;
    const { ids } = renderer.renderConversation({ messages });
    expect(renderer.renderTraining({ messages }).ids).toEqual([...ids.slice(0, -1), 200002]);
    expect(renderer.renderTraining({ messages }).length).toBe(ids.length);
  });

  test("a message rendered alone does not depend on functions of the others", () => {
    const system: Message = { role: "system", content: [{ type: "system", channels: ["final"] }] };
    const developer = conversation[1] ?? system;
    const known = renderer.renderConversation({ messages: [system, developer] }).ids;
    expect(decode(known)).toContain("'functions'");
    expect(decode(renderer.renderMessage(system).ids)).toBe(
      "<|start|>system<|message|># Valid channels: final.<|end|>",
    );
  });

  test.each<[string, readonly ToolNamespace[], boolean]>([
    ["a function under the key functions", namespaces, true],
    [
      "under that key by another name",
      [
        {
          ...namespaces[0],
          key: "functions",
          name: "x",
          functions: namespaces[0]?.functions ?? [],
        },
      ],
      true,
    ],
    [
      "under another key by that name",
      [{ key: "x", name: "functions", functions: namespaces[0]?.functions ?? [] }],
      false,
    ],
    ["an empty namespace", [{ key: "functions", name: "functions", functions: [] }], false],
    [
      "a namespace replaced by an empty one",
      [...namespaces, { key: "functions", name: "x", functions: [] }],
      false,
    ],
  ])("the system message looks for functions: %s", (_, tools, found) => {
    const { ids } = renderer.renderConversation({
      messages: [
        { role: "system", content: [{ type: "system", channels: ["final"] }] },
        { role: "user", content: "hi" },
        {
          role: "developer",
          content: [
            { type: "text", text: "x" },
            { type: "developer", namespaces: tools },
          ],
        },
      ],
    });
    expect(decode(ids).includes("Calls to these tools must go to")).toBe(found);
  });
});

describe("dropping as the library does", () => {
  test("drops by the library's rule", () => {
    const messages: Message[] = [
      { role: "user", content: "a" },
      { role: "assistant", channel: "analysis", content: "b" },
      { role: "assistant", channel: "final", content: "c" },
    ];
    expect(
      decode(createRenderer({ autoDropAnalysis: true }).renderTraining({ messages }).ids),
    ).toBe(
      "<|start|>user<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>c<|return|>",
    );
  });

  test("the system message mentions functions of a message that is dropped", () => {
    const developer = { type: "developer", namespaces } as const;
    const messages: Message[] = [
      { role: "system", content: [{ type: "system", channels: ["final"] }] },
      { role: "developer", channel: "analysis", content: [developer] },
      { role: "assistant", channel: "final", content: "c" },
    ];
    const { ids } = createRenderer({ autoDropAnalysis: true }).renderConversation({ messages });
    expect(decode(ids)).toBe(
      "<|start|>system<|message|># Valid channels: final.\nCalls to these tools must go to the commentary channel: 'functions'.<|end|><|start|>assistant<|channel|>final<|message|>c<|end|>",
    );
  });
});

describe("openings", () => {
  test.each([
    [{}, "<|message|>"],
    [{ channel: "final" }, "<|channel|>final<|message|>"],
    [{ channel: "final", text: "Dear " }, "<|channel|>final<|message|>Dear "],
    [
      {
        recipient: "functions.f",
        channel: "commentary",
        contentType: "<|constrain|>json",
        text: "{",
      },
      " to=functions.f<|channel|>commentary <|constrain|>json<|message|>{",
    ],
  ])("%j is %j", (opening, text) => {
    expect(decode(renderer.renderOpening(opening).ids)).toBe(text);
  });

  test.each(["reference", "channel-first"] as const)(
    "an open message has the ids of the closed one: %s",
    (layout) => {
      const { renderMessage, renderOpening, renderStart } = createRenderer({ layout });
      const opened = renderStart("assistant").append(renderOpening({ ...header, text: "{}" }).ids);
      expect([...opened.ids, 200012]).toEqual(renderMessage(call).ids);
    },
  );
});

describe("layouts", () => {
  test.each<[Partial<Message>, string, string]>([
    [
      { recipient: "functions.f", channel: "commentary", contentType: "json" },
      " to=functions.f<|channel|>commentary json",
      "<|channel|>commentary to=functions.f <|constrain|>json",
    ],
    [
      { recipient: "python", channel: "analysis", contentType: "code" },
      " to=python<|channel|>analysis code",
      " to=python<|channel|>analysis <|constrain|>code",
    ],
    [{ recipient: "functions.f" }, " to=functions.f", " to=functions.f"],
    [{ recipient: "all", channel: "commentary" }, "<|channel|>commentary", "<|channel|>commentary"],
    [
      { recipient: "", channel: "commentary" },
      " to=<|channel|>commentary",
      "<|channel|>commentary to=",
    ],
    [{ channel: "" }, "<|channel|>", "<|channel|>"],
    [{ contentType: "" }, " ", " <|constrain|>"],
    [{ contentType: "<|constrain|>" }, " <|constrain|>", " <|constrain|>"],
    [{ contentType: "x<|constrain|>" }, " x<|constrain|>", " <|constrain|>x<|constrain|>"],
  ])("%j", (parts, reference, channelFirst) => {
    const message: Message = { role: "assistant", content: "x", ...parts };
    const end = parts.recipient === undefined ? "<|end|>" : "<|call|>";
    const shown = (text: string) => `<|start|>assistant${text}<|message|>x${end}`;
    expect(decode(renderer.renderMessage(message).ids)).toBe(shown(reference));
    const other = createRenderer({ layout: "channel-first" });
    expect(decode(other.renderMessage(message).ids)).toBe(shown(channelFirst));
  });
});

test.each<[Message, string]>([
  [
    {
      role: "assistant",
      recipient: "functions.f",
      channel: "commentary",
      contentType: "<|constrain|>json",
      content: "{}",
    },
    "assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>",
  ],
  [
    {
      role: "assistant",
      recipient: "python",
      channel: "analysis",
      contentType: "code",
      content: "1",
    },
    "assistant<|channel|>analysis to=python code<|message|>1<|call|>",
  ],
  [
    {
      role: "tool",
      name: "functions.f",
      recipient: "assistant",
      channel: "commentary",
      content: "ok",
    },
    "functions.f to=assistant<|channel|>commentary<|message|>ok<|end|>",
  ],
  [
    {
      role: "assistant",
      recipient: "functions.f",
      order: "recipient-first",
      channel: "commentary",
      content: "",
    },
    "assistant to=functions.f<|channel|>commentary<|message|><|call|>",
  ],
])("the layout of the guide: calls channel first, results recipient first: %j", (message, text) => {
  const guide = createRenderer({ layout: "guide" });
  expect(decode(guide.renderMessage(message).ids)).toBe(`<|start|>${text}`);
});

describe("errors", () => {
  test.each<[Message, HarmonyRenderError]>([
    [
      { role: "tool", content: "x" },
      new HarmonyRenderError("tool-without-name", "A tool message needs the name of its tool"),
    ],
    [
      { role: "user", content: [{ type: "system" }] },
      new HarmonyRenderError(
        "misplaced-system-content",
        "Content of type system belongs in system messages, not in a user message",
      ),
    ],
    [
      { role: "system", content: [{ type: "text", text: "" }, { type: "developer" }] },
      new HarmonyRenderError(
        "misplaced-developer-content",
        "Content of type developer belongs in developer messages, not in a system message",
      ),
    ],
  ])("%j", (message, error) => {
    expect(() => renderer.renderConversation({ messages: [message] })).toThrow(error);
    expect(() => renderer.renderCompletion({ messages: [message] })).toThrow(error);
    let thrown: unknown;
    try {
      renderer.renderMessage(message);
    } catch (caught) {
      thrown = caught;
    }
    expect(thrown).toMatchObject({ name: "HarmonyRenderError", code: error.code });
  });
});

describe("cost", () => {
  test("the next turn encodes only what is new", () => {
    const tokenizer = countingTokenizer();
    const cached = createRenderer({ tokenizer });
    cached.renderCompletion({ messages: conversation });
    tokenizer.encoded.length = 0;
    // New objects and strings, like those of the next request's body.
    const again: Message[] = structuredClone([...conversation]);
    cached.renderCompletion({
      messages: [
        ...again,
        { role: "assistant", channel: "final", content: "It is noon." },
        { role: "user", content: "Thanks!" },
      ],
    });
    expect(tokenizer.encoded).toEqual(["final", "It is noon.", "Thanks!"]);
  });

  test.each([0, 1_000_000])("grows in step with the conversation, budget %i", (cacheBytes) => {
    const work = (turns: number) => {
      const tokenizer = countingTokenizer();
      const messages = Array.from({ length: turns }, (_, turn): Message[] => [
        { role: "user", content: `question ${String(turn).padStart(5, "0")} ${"a".repeat(200)}` },
        { ...call, content: `{"n":${String(turn).padStart(5, "0")}}` },
      ]).flat();
      createRenderer({ tokenizer, cacheBytes }).renderCompletion({ messages });
      const { encoded } = tokenizer;
      return { calls: encoded.length, characters: encoded.join("").length };
    };
    const [few, more, most] = [work(100), work(200), work(1200)];
    expect(most.calls - more.calls).toBe(10 * (more.calls - few.calls));
    expect(most.characters - more.characters).toBe(10 * (more.characters - few.characters));
  });
});
