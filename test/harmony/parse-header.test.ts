import { describe, expect, test } from "vitest";
import type { ParserOptions } from "../../src/harmony/index.ts";
import { readText } from "./parse-cases.ts";
import type { Reading } from "./parse-cases.ts";

const toolNames = [
  ..."f,bash,search,search_docs,Web Search,loadjson,browser.open".split(","),
  ..."final_report,comment_on,thinking,json".split(","),
];

/** `call f {}`, `content B`, or `nothing`; several parts are joined by ` | `. */
function outline({ parts }: Pick<Reading, "parts">): string {
  const lines = parts.map((part) =>
    part.type === "tool_call" ? `call ${part.name} ${part.arguments}` : `${part.type} ${part.text}`,
  );
  return lines.join(" | ") || "nothing";
}

function names({ recoveries }: Reading): string {
  return recoveries.map(([name]) => name).join(" ");
}

describe("headers closed by <|message|>", () => {
  /** Header, what the message is (its body is `{}`), repairs, why. */
  // One row in a line, however long.
  // oxfmt-ignore
  const rows: readonly (readonly [string, string, string, string])[] = [
    // H1: role
    ["<|channel|>final", "content {}", "", "as it should be"],
    [" to=functions.f<|channel|>commentary <|constrain|>json", "call f {}", "", "recipient with the role"],
    ["<|channel|>commentary to=functions.f <|constrain|>json", "call f {}", "", "recipient with the channel"],
    ["<|start|>assistant<|channel|>final", "content {}", "repeated-start", "the prompt's header again"],
    ["assistant<|channel|>final", "content {}", "repeated-start", "its word again"],
    ["<|start|><|start|>assistant<|channel|>final", "content {}", "repeated-start", "doubled start token"],
    ["<|start|>assistant assistant<|channel|>final", "content {}", "repeated-start", "doubled role"],
    ["<|start|>Assistant<|channel|>final", "content {}", "repeated-start odd-role", "capital letter"],
    ["<|start|>ASSISTANT<|channel|>final", "content {}", "repeated-start odd-role", "capital letters"],
    ["<|start|>assistant:bot<|channel|>final", "content {}", "repeated-start odd-role", "role with a name"],
    ["<|start|><|channel|>analysis", "reasoning {}", "repeated-start odd-role", "no role"],
    ["<|start|>final", "content {}", "repeated-start odd-role odd-channel", "channel in place of the role"],
    ["<|start|>assistantfinal", "content {}", "repeated-start odd-role odd-channel", "channel glued to the role"],
    ["<|start|>commentary to=functions.f", "call f {}", "repeated-start odd-role odd-channel", "the same for a call"],
    ["<|start|>to=functions.f<|channel|>commentary", "call f {}", "repeated-start odd-role", "role forgotten"],
    ["<|start|>robot<|channel|>final", "content {}", "repeated-start odd-role", "a role nobody knows"],
    ["analysis", "reasoning {}", "odd-channel", "channel without its marker"],
    ["<|start|>user", "nothing", "repeated-start imagined-turn", "the user's turn is not the model's"],
    ["<|start|>System", "nothing", "repeated-start imagined-turn", "nor the system's"],
    ["<|start|>developer:x", "nothing", "repeated-start imagined-turn", "nor the developer's"],
    ["<|start|>functions.f to=assistant<|channel|>commentary", "nothing", "repeated-start imagined-tool-result", "a result"],
    ["<|start|>functions.f<|channel|>commentary to=assistant", "nothing", "repeated-start imagined-tool-result", "a result, channel first"],
    ["<|start|>bash<|channel|>commentary", "nothing", "repeated-start imagined-tool-result", "an offered name speaks"],
    ["<|start|>python", "nothing", "repeated-start imagined-tool-result", "a built-in tool speaks"],
    ["<|end|>bash to=assistant<|channel|>commentary", "nothing", "stray-terminator imagined-tool-result", "a result without its start token"],
    ["<|start|>tool to=assistant", "nothing", "repeated-start imagined-tool-result", "the role itself"],

    // H2: channel
    ["<|channel|>analysis", "reasoning {}", "", "as it should be"],
    ["<|channel|>commentary", "commentary {}", "", "preamble"],
    ["", "content {}", "", "no channel at all"],
    ["<|channel|> final", "content {}", "odd-channel", "space before the name"],
    ["<|channel|>\nanalysis\n", "reasoning {}", "odd-channel", "line breaks around it"],
    ["<|channel|>Analysis", "reasoning {}", "odd-channel", "capital letter"],
    ["<|channel|>commentaryjson", "commentary {}", "odd-channel", "content type glued on"],
    ["<|channel|>finalx", "content {}", "odd-channel", "anything glued on"],
    ["<|channel|>analysis??", "reasoning {}", "odd-channel", "junk glued on"],
    ["<|channel|>analysis ??", "reasoning {}", "", "junk beside it decides nothing"],
    ["<|channel|>comment", "commentary {}", "odd-channel", "unfinished name: a stream breaks between its tokens"],
    ["<|channel|>co", "content {}", "odd-channel", "too short to be a beginning"],
    ["<|channel|>thinking", "reasoning {}", "odd-channel", "another word for it"],
    ["<|channel|>Reasoning", "reasoning {}", "odd-channel", "another word for it"],
    ["<|channel|>output", "content {}", "odd-channel", "unknown words are shown"],
    ["<|channel|>", "content {}", "odd-channel", "a marker and no name"],

    // H3: several channels
    ["<|channel|>commentary<|channel|>analysis", "reasoning {}", "several-channels", "the last one counts: analysis stays hidden"],
    ["<|channel|>analysis<|channel|>final", "content {}", "several-channels", "the last one counts: an answer is shown"],
    ["<|channel|>analysis<|channel|>nonsense", "reasoning {}", "several-channels", "the last known one"],
    ["<|channel|>commentary to=assistant<|channel|>analysis", "reasoning {}", "several-channels", "stray recipient before it"],

    // H4: recipient
    ["<|channel|>commentary to=f", "call f {}", "", "no namespace"],
    ["<|channel|>commentary to=functions.functions.f", "call f {}", "odd-recipient", "namespace twice"],
    ["<|channel|>commentary to=functions.f<|channel|>commentary json", "call f {}", "channel-in-recipient", "second channel"],
    ["<|channel|>commentary to=functions.f<|channel|>json", "call f {}", "channel-in-recipient", "content type as channel"],
    [" to=functions.f<|channel|>commentary<|channel|>commentary", "call f {}", "channel-in-recipient", "second channel behind the first"],
    ["<|channel|>commentary to=functions.fjson", "call f {}", "odd-recipient", "content type glued on"],
    ["<|channel|>commentary to=functions.fcommentary json", "call f {}", "odd-recipient", "channel glued on"],
    ["<|channel|>commentary to=functions.loadjson", "call loadjson {}", "", "an offered name may end in json"],
    ["<|channel|>commentary to=functions.search_docs", "call search_docs {}", "", "the longest name wins"],
    ["<|channel|>commentary to=functions.search_all", "call search_all {}", "unoffered-tool", "half a match is none"],
    ["<|channel|>commentary to=functions.Web Search json", "call Web Search {}", "", "a space in the name"],
    ["<|channel|>commentary to=functions.Web Searchjson", "call Web Search {}", "odd-recipient", "and glue behind it"],
    ["<|channel|>commentary to=functions.f to=functions.f", "call f {}", "", "said twice"],
    ["<|channel|>commentary to=functions.f to=functions.bash", "call f {}", "", "the first one counts"],
    ["<|channel|>commentary to = functions.f", "call f {}", "", "spaces around the sign"],
    ["<|channel|>commentary to=tool: bash", "call bash {}", "odd-recipient", "a label before the name"],
    ["<|channel|>commentary to=functions bash", "call bash {}", "odd-recipient", "the dot forgotten"],
    ["<|channel|>commentary to=<|constrain|>functions.f", "call f {}", "missing-to", "a marker in the middle"],
    ["<|channel|>commentary bash", "call bash {}", "missing-to", "only the name"],
    ["<|channel|>bash", "call bash {}", "missing-to", "the name as channel"],
    ["<|channel|>commentary functions.other", "call other {}", "missing-to unoffered-tool", "the namespace gives it away"],
    ["<|channel|>commentary json", "commentary {}", "", "no name, even if a function is called so"],
    ["<|channel|>commentary ?? bash json", "call bash {}", "missing-to", "with junk beside it"],
    ["<|channel|>analysis let me search for it", "reasoning {}", "", "a name in prose is no call"],
    ["<|channel|>analysis so I set to=5", "reasoning {}", "", "nor is a sign"],
    ["<|channel|>analysis so I use to=search", "call search {}", "", "unless it gives an offered name"],
    ["<|channel|>final_report", "call final_report {}", "missing-to", "a name that begins like a channel"],
    ["<|channel|>comment_on", "call comment_on {}", "missing-to", "a name that begins like half a channel"],
    ["<|channel|>thinking", "reasoning {}", "odd-channel", "a name that is a channel's other word"],
    ["<|channel|>commentary to=", "commentary {}", "lost-tool-name", "no name behind the sign"],
    ["<|channel|>commentary to=functions", "commentary {}", "lost-tool-name", "a namespace is no name"],
    ["<|channel|>commentary to=assistant", "commentary {}", "", "not a tool"],
    ["<|channel|>commentary to=all", "commentary {}", "", "not a tool"],
    ["<|channel|>final to=user", "content {}", "", "not a tool"],
    ["<|channel|>analysis to=finaljson", "reasoning {}", "", "a channel is not a tool"],
    ["<|channel|>comment to=functions.f", "call f {}", "odd-channel", "a recipient beats the channel"],
    ["<|channel|>analysis to=functions.f code", "call f {}", "", "a call is a call on every channel"],
    [" to=functions.f<|channel|>final", "call f {}", "", "a call is a call on every channel"],
    ["<|channel|>analysis to=browser.open", "call browser.open {}", "", "a built-in name the client offers"],
    ["<|channel|>analysis to=browser.search", "call browser.search {}", "unoffered-tool", "one it does not"],

    // H5: content type
    ["<|channel|>commentary to=functions.f json", "call f {}", "", "without its marker"],
    ["<|channel|>commentary to=functions.f <|constrain|> json", "call f {}", "", "a space behind the marker"],
    ["<|channel|>commentary to=functions.f<|constrain|>json<|constrain|>json", "call f {}", "", "twice"],
    ["<|channel|>commentary to=functions.f <|constrain|>commentary", "call f {}", "", "a channel as content type"],
    ["<|constrain|>json<|channel|>commentary to=functions.f", "call f {}", "", "before everything"],
    ["<|channel|>commentary <|constrain|>json to=functions.f", "call f {}", "", "before the recipient"],
    ["<|channel|>commentary <|constrain|>bash", "commentary {}", "", "an offered name is none there"],
    ["<|channel|>final <|constrain|>Reply", "content {}", "", "the name of a response format"],
  ];

  test.each(rows)("%s: %s, %s (%s)", (header, message, repairs) => {
    const reading = readText(`${header}<|message|>{}<|end|>`, "stop", { toolNames });
    expect([outline(reading), names(reading)]).toEqual([message, repairs]);
  });

  test.each([
    ["<|channel|>commentary to=functions.f", "content {}", "a function's arguments are shown"],
    ["<|channel|>analysis to=python code", "reasoning {}", "a built-in tool's text is reasoning"],
    ["<|channel|>commentary to=repo_browser.search code", "reasoning {}", "so is this one's"],
    [
      "<|channel|>container.exec code",
      "reasoning {}",
      "also where its name stands for the channel",
    ],
    ["<|channel|>repo_browser.search to=assistant code", "reasoning {}", "or for the author"],
    ["<|channel|>final python", "content {}", "but not beside the channel of an answer"],
    [
      "<|channel|>analysis to=functions.python",
      "content {}",
      "with the namespace it is a function",
    ],
    ["<|channel|>commentary to=assistant", "commentary {}", "not a tool"],
  ])("without tools in the request, %s: %s (%s)", (header, message) => {
    expect(outline(readText(`${header}<|message|>{}<|call|>`))).toBe(message);
  });
});

describe("tools of the system message", () => {
  const namespaces = {
    repo_browser: ["search", "open_file", "final_report"],
    container: ["exec"],
    analysis_lab: ["run"],
  };
  /** The tools as namespaces of the system message, and as functions. */
  const offers: readonly (readonly [string, ParserOptions])[] = [
    [
      "namespaces",
      {
        systemTools: [
          ...Object.entries(namespaces).map(([name, functions]) => ({
            name,
            functions,
            rawBody: false,
          })),
          { name: "python", functions: [], rawBody: true },
        ],
      },
    ],
    [
      "functions",
      {
        toolNames: [
          ...Object.entries(namespaces).flatMap(([name, all]) =>
            all.map((each) => `${name}.${each}`),
          ),
          "python",
        ],
        textTools: ["python"],
      },
    ],
  ];

  /** Header, what the message is (its body is `{}`), why. */
  // One row in a line, however long.
  // oxfmt-ignore
  const rows: readonly (readonly [string, string, string])[] = [
    ["<|channel|>analysis to=repo_browser.search code", "call repo_browser.search {}", "as it should be"],
    [" to=repo_browser.search<|channel|>analysis code", "call repo_browser.search {}", "recipient with the role"],
    ["<|channel|>repo_browser.search<|channel|>analysis code", "call repo_browser.search {}", "the name before the channel"],
    ["<|channel|>container.exec code", "call container.exec {}", "the name for the channel"],
    ["<|channel|>analysis container.exec code", "call container.exec {}", "the name without to="],
    ["<|start|>assistant container.exec<|channel|>analysis code", "call container.exec {}", "the same with the role"],
    ["<|channel|>assistant to=repo_browser.open_file<|channel|>analysis code", "call repo_browser.open_file {}", "the role for the channel"],
    ["<|channel|>analysis_lab.run<|channel|>analysis code", "call analysis_lab.run {}", "a name that begins like a channel"],
    ["<|channel|>python<|channel|>analysis code", "call python {}", "a tool without functions"],
    ["<|channel|>repo_browser.search to=assistant<|channel|>analysis code", "call repo_browser.search {}", "a result's header under the assistant's start"],
    ["<|channel|>analysis repo_browser.search to=assistant code", "call repo_browser.search {}", "the same after the channel"],
    ["<|start|>assistant repo_browser.search to=assistant<|channel|>analysis code", "call repo_browser.search {}", "the same with the role"],
    ["<|channel|>browser.search to=assistant<|channel|>analysis code", "call browser.search {}", "a name that was not offered is passed on"],
    ["<|channel|>browser.open<|channel|>analysis code", "call browser.open {}", "if the model was trained with it, also without to="],
    ["<|channel|>files.read<|channel|>analysis code", "reasoning {}", "any other is none"],
    ["<|channel|>analysis to=repo_browser__search code", "call repo_browser.search {}", "underscores for the dot"],
    ["<|channel|>repo_browser__search<|channel|>analysis code", "call repo_browser.search {}", "the same without to="],
    ["<|channel|>analysis to=functions.repo_browser.search code", "call repo_browser.search {}", "as a function"],
    ["<|channel|>analysis to=functions.repo_browser__search code", "call repo_browser.search {}", "both"],
    ["<|channel|>analysis to=open_file code", "call repo_browser.open_file {}", "a name that one tool has"],
    ["<|channel|>analysis to=functions.open_filecode", "call repo_browser.open_file {}", "with the content type joined"],
    ["<|start|>repo_browser.search to=assistant<|channel|>analysis code", "nothing", "an imagined result"],
    ["<|start|>repo_browser.search<|channel|>analysis to=assistant", "nothing", "an imagined result, channel first"],
    ["<|start|>container.exec to=assistant<|channel|>analysis code", "nothing", "an imagined result, whatever its content type"],
  ];

  describe.each(offers)("offered as %s", (_, options) => {
    test.each(rows)("%s: %s (%s)", (header, message) => {
      expect(outline(readText(`${header}<|message|>{}<|call|>`, "stop", options))).toBe(message);
    });

    test.each([
      ["<|channel|>analysis search in repo_browser.search", "I look for it.", "reasoning"],
      ["<|channel|>repo_browser.search<|channel|>analysis", "I look for it.", "reasoning"],
      ["<|channel|>container.exec", "[1]", "content"],
      [
        "<|channel|>repo_browser.search to=assistant<|channel|>analysis code",
        "{path}",
        "reasoning",
      ],
      [
        "<|channel|>repo_browser.search to=assistant<|channel|>analysis code",
        "Found: 3",
        "reasoning",
      ],
      ["<|channel|>repo_browser.search to=assistant<|channel|>commentary", "[{}]", "commentary"],
      ["<|channel|>browser.open<|channel|>analysis code", "It opens the page.", "reasoning"],
    ])("%s: a body that is no object, %s, makes it no call but %s", (header, body, kind) => {
      const text = `${header}<|message|>${body}<|end|>`;
      expect(outline(readText(text, "stop", options))).toBe(`${kind} ${body}`);
    });

    test("white space without end, and an object without end, are held back up to the limit", () => {
      const named = "<|channel|>repo_browser.search<|channel|>analysis<|message|>";
      const author = "<|channel|>repo_browser.search to=assistant<|channel|>analysis<|message|>";
      const limited = { ...options, maxHeldLength: 1000 };
      const blank = readText(named + " ".repeat(1001), "length", limited);
      expect(outline(blank)).toBe(`reasoning ${" ".repeat(1001)}`);
      const object = `{"a":"${"x".repeat(1000)}`;
      expect(outline(readText(author + object, "length", limited))).toBe(
        `call repo_browser.search ${object}`,
      );
    });
  });
});

describe("tools of namespaces", () => {
  const offered = [
    "mcp__weather.get_weather",
    "mcp__clock.get_time",
    "mcp__clock.final",
    "mcp__notes.list",
    "mcp__files.list",
    "mcp__files__read",
    "mcp__files.read",
    "f",
  ];

  test.each([
    ["<|channel|>commentary to=mcp__weather.get_weather", "mcp__weather.get_weather", ""],
    [" to=mcp__weather.get_weather<|channel|>commentary", "mcp__weather.get_weather", ""],
    ["<|channel|>commentary to=functions.mcp__weather.get_weather", "mcp__weather.get_weather", ""],
    [
      "<|channel|>commentary to=functions.mcp__weather__get_weather",
      "mcp__weather.get_weather",
      "",
    ],
    ["<|channel|>commentary to=mcp__weather__get_weather", "mcp__weather.get_weather", ""],
    ["<|channel|>commentary to=functions.get_weather", "mcp__weather.get_weather", "odd-recipient"],
    ["<|channel|>commentary to=get_time", "mcp__clock.get_time", "odd-recipient"],
    ["<|channel|>commentary to=get_timejson", "mcp__clock.get_time", "odd-recipient"],
    ["<|channel|>commentary mcp__weather.get_weather", "mcp__weather.get_weather", "missing-to"],
    ["<|channel|>commentary to=functions.f", "f", ""],
    // Two tools have the name, so neither is meant.
    ["<|channel|>commentary to=functions.list", "list", "unoffered-tool"],
    // A function of that very name is offered.
    ["<|channel|>commentary to=functions.mcp__files__read", "mcp__files__read", ""],
    ["<|channel|>commentary to=mcp__files.read", "mcp__files.read", ""],
    ["<|channel|>commentary to=mcp__files.write", "mcp__files.write", "unoffered-tool"],
  ])("%s calls %s (%s)", (header, name, repairs) => {
    const reading = readText(`${header}<|message|>{}<|call|>`, "stop", { toolNames: offered });
    expect([outline(reading), names(reading)]).toEqual([`call ${name} {}`, repairs]);
  });

  test.each([
    ["<|channel|>final", "content {}", "a tool's name without its namespace is no channel"],
    ["<|channel|>commentary to=final", "commentary {}", "nor a recipient where it is a channel"],
    ["<|channel|>commentary get_time", "commentary {}", "nor a call without to="],
  ])("%s: %s (%s)", (header, message) => {
    const reading = readText(`${header}<|message|>{}<|end|>`, "stop", { toolNames: offered });
    expect(outline(reading)).toBe(message);
  });

  test("a call whose header is joined to its arguments", () => {
    const text = '<|channel|>commentary mcp__weather__get_weather {"city":"Paris"}<|call|>';
    const reading = readText(text, "stop", { toolNames: offered });
    expect(outline(reading)).toBe('call mcp__weather.get_weather {"city":"Paris"}');
  });

  test("a tool result that the model invented", () => {
    const text = "<|start|>mcp__weather.get_weather to=assistant<|channel|>commentary<|message|>x";
    expect(outline(readText(text, "stop", { toolNames: offered }))).toBe("nothing");
  });
});

describe("headers joined to their body", () => {
  // One row in a line, however long.
  // oxfmt-ignore
  const rows: readonly (readonly [string, string, string, string])[] = [
    // H7
    ["<|channel|>analysis I must think", "reasoning I must think", "missing-message", "analysis"],
    ["<|channel|>commentary Let me see.", "commentary Let me see.", "missing-message", "preamble"],
    ["<|channel|>final The result is 12.", "content The result is 12.", "missing-message", "answer"],
    ["<|channel|>final\n\nThe result\nis 12.\n", "content The result\nis 12.\n", "missing-message", "its lines stay"],
    ["<|channel|>finalThe result", "content The result", "odd-channel missing-message", "glued"],
    ["<|channel|>final Yes", "content Yes", "missing-message", "one word is enough"],
    ['<|channel|>final <|constrain|>json {"a":1}', 'content {"a":1}', "missing-message", "content type skipped"],
    ['<|channel|>final json {"a":1}', 'content {"a":1}', "missing-message", "without its marker"],
    ["<|channel|>final json is a format", "content json is a format", "missing-message", "prose about it"],
    ['<|channel|>final <|constrain|>Reply {"a":1}', 'content {"a":1}', "missing-message", "response format skipped"],
    ["<|channel|>final One<|constrain|> two", "content One two", "missing-message", "a stray marker within"],
    ['<|channel|>commentary to=functions.f <|constrain|>json{"a":1}', 'call f {"a":1}', "missing-message", "call"],
    ["<|channel|>commentary to=functions.f json [1]", "call f [1]", "missing-message", "from the first bracket"],
    ['<|channel|>commentary to=functions.fjson{"a":1}', 'call f {"a":1}', "odd-recipient missing-message", "glued name"],
    ['<|channel|>commentary bash {"a":1}', 'call bash {"a":1}', "odd-recipient missing-message", "only the name"],
    ['<|channel|>bash{"a":1}', 'call bash {"a":1}', "odd-recipient missing-message", "the name as channel"],
    ["<|channel|>analysis search the docs", "reasoning search the docs", "missing-message", "a name in prose is no call"],
    ["<|channel|>analysis We set to=5 here", "reasoning We set to=5 here", "missing-message", "nor is a sign"],
    ["<|channel|>commentary to=assistant Action plan", "commentary Action plan", "missing-message", "not a tool"],
    [' to=functions.f {"a":1}', 'call f {"a":1}', "missing-message", "no marker but the last"],
    ['commentary to=functions.f json {"a":1}', 'call f {"a":1}', "missing-message", "the channel's neither"],
    ["commentary to be given", "content commentary to be given", "text-outside", "prose"],
    ["<|start|>assistantfinal Here it is", "content Here it is", "repeated-start odd-role odd-channel missing-message", "channel glued to the role"],
    ["<|start|>assistantHere it is", "content Here it is", "repeated-start odd-role text-outside", "no channel: text outside messages"],
    ["<|start|>user says hi", "nothing", "repeated-start imagined-turn", "not the model's turn"],
    ['<|start|>functions.f to=assistant {"a":1}', "nothing", "repeated-start imagined-tool-result", "a result"],

    // H8
    ["<|channel|>final", "nothing", "header-without-body", "nothing said"],
    ["<|channel|>commentary to=functions.f", "nothing", "header-without-body", "no arguments, no call"],
    ["<|channel|>commentary to=functions.f <|constrain|>control", "nothing", "header-without-body", "nor with a content type"],
    ["<|channel|>commentary to=functions.f then run it", "nothing", "header-without-body", "nor with words"],
    ["<|channel|>commentary?commentary?We need it.", "reasoning We need it.", "garbled-header missing-message", "a broken header is no preamble"],
    ["<|channel|>who knows what", "reasoning who knows what", "garbled-header missing-message", "words are reasoning"],
    ["<|channel|>what", "nothing", "garbled-header header-without-body", "a word is nothing"],
    ["<|constrain|>json", "nothing", "header-without-body", "no channel either"],
  ];

  test.each(rows)("%s: %s, %s (%s)", (header, message, repairs) => {
    const reading = readText(`${header}<|end|>`, "stop", { toolNames });
    expect([outline(reading), names(reading)]).toEqual([message, repairs]);
  });

  test.each([
    [' to=functions.f {"a":1}', 'call f {"a":1}'],
    ['commentary to=functions.f json {"a":1}', 'call f {"a":1}'],
    ["assistantfinal Here it is", "content Here it is"],
    ["assistant: Here it is", "content Here it is"],
    ["commentary", "nothing"],
    ["assistant json", "nothing"],
    ["final words", "content final words"],
  ])("between messages, without any marker: %s gives %s", (text, message) => {
    const { parts } = readText(`<|channel|>analysis<|message|>Hm<|end|>${text}`, "stop", {
      toolNames,
    });
    expect(outline({ parts: parts.slice(1) })).toBe(message);
  });

  test.each([
    ["<|channel|>analysis Hm, well.<|channel|>final", "reasoning Hm, well. | content {}"],
    ["<|channel|>final It is 12.<|channel|>analysis", "content It is 12. | reasoning {}"],
    ['<|channel|>commentary to=f{"a":1}<|channel|>final', 'call f {"a":1} | content {}'],
  ])("a channel after a body opens the next message: %s gives %s", (text, messages) => {
    expect(outline(readText(`${text}<|message|>{}`, "stop", { toolNames }))).toBe(messages);
  });

  test("text too long for a header is a body, and is not held back", () => {
    const words = "word ".repeat(200);
    const reading = readText(`<|channel|>final ${words}<|message|>more`, "stop");
    expect([outline(reading), names(reading)]).toEqual([
      `content ${words}more`,
      "long-header stray-marker",
    ]);
  });

  test("a call too long without arguments is not a call", () => {
    const words = "word ".repeat(200);
    const reading = readText(`<|channel|>commentary to=functions.f ${words}`, "stop", {
      toolNames,
    });
    expect(reading.parts.map(({ type }) => type)).toEqual(["reasoning"]);
  });
});

describe("headers truncated by the engine", () => {
  test.each([
    "<|channel|>",
    "<|channel|>an",
    "<|channel|>comment",
    "<|channel|>commentary to",
    "<|channel|>commentary to=",
    "<|channel|>commentary to=functions.se",
    "<|channel|>commentary to=functions.search <|constrain|>js",
    "<|channel|>final <|constrain|>json",
    "<|channel|>final js",
    " to",
    " to=functions.search",
    "assist",
    "<|start|>",
    "<|start|>assist",
    "<|start|>assistant",
    "<|start|>functions.sea",
  ])("%s gives nothing", (header) => {
    expect(outline(readText(header, "length", { toolNames }))).toBe("nothing");
    const analysis = "<|channel|>analysis<|message|>Hm<|end|>";
    expect(outline(readText(`${analysis}${header}`, "length", { toolNames }))).toBe("reasoning Hm");
  });

  test.each([
    ["<|channel|>final The resu", "content The resu"],
    ['<|channel|>commentary to=functions.f{"a":', 'call f {"a":'],
    ["<|start|>assistantHere is", "content Here is"],
    ["analysisWe thi", "reasoning We thi"],
    ['analysis to=functions.f code{"a', 'call f {"a'],
    ["final", "content final"],
    ["a", "content a"],
  ])("%s gives %s", (header, message) => {
    expect(outline(readText(header, "length", { toolNames }))).toBe(message);
  });
});
