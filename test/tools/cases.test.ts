/** The recorded cases of built-in tools: results of OpenAI's own Python functions, and Harmony's test data. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { describe, expect, test } from "vitest";
import {
  BROWSER_NAMESPACE,
  createRenderer,
  fromPlainJson,
  systemText,
  toolsSection,
} from "../../src/harmony/index.ts";
import { developerMessage, systemMessage } from "../../src/harmony/messages.ts";
import { createCitationFilter } from "../../src/turn/output/citations.ts";
import { findInPage, showPage, stripLinks } from "../../src/tools/browser/page.ts";
import { wrapLines } from "../../src/tools/browser/wrap-lines.ts";
import { o200kHarmony } from "../../src/tokenizer/index.ts";
import { fakeTool } from "../helpers/fake-tool.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";
import {
  type FinishedPart,
  type FinishedTurn,
  finishTurn,
  offeredTool,
  turnWithTools,
} from "../helpers/turns.ts";

const toolCase = z.object({
  id: z.string(),
  kind: z.string(),
  input: z.record(z.string(), z.unknown()),
  expected: z.unknown(),
});

type ToolCase = z.infer<typeof toolCase>;

const ALL = readFileSync(join(import.meta.dirname, "../fixtures/builtin-tools/cases.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => toolCase.parse(JSON.parse(line)));

function casesOf(kind: string): ToolCase[] {
  return ALL.filter((each) => each.kind === kind);
}

/** Kinds that other tests run, beside the APIs, the browser and the runtimes of Python. */
const ELSEWHERE = [
  "responses-events",
  "responses-item",
  "python-result",
  "tool-error",
  "fetch-policy",
];
const HERE = [
  "render",
  "render-section",
  "render-message",
  "parse-call",
  "page-show",
  "wrap",
  "page-find",
  "strip-links",
  "citation-reference",
  "citation-stream-hold",
  "citation-gateway",
];

test("the files have no case of an unknown kind", () => {
  expect(ALL).toHaveLength(82);
  expect(new Set(ALL.map(({ kind }) => kind))).toEqual(new Set([...HERE, ...ELSEWHERE]));
});

const pageInput = z.object({
  url: z.string(),
  title: z.string(),
  text: z.string().transform((text) => wrapLines(text)),
  cursor: z.number().default(0),
  loc: z.number().default(0),
  num_lines: z.number().default(-1),
  pattern: z.string().default(""),
});

describe("pages", () => {
  test.each(casesOf("page-show"))("$id", ({ input, expected }) => {
    const { cursor, loc, num_lines: lines, text, ...page } = pageInput.parse(input);
    const show = () =>
      showPage({ ...page, lines: text, links: [] }, { cursor, loc, lines }, o200kHarmony());
    let shown: string;
    try {
      shown = show();
    } catch (error) {
      shown = error instanceof Error ? error.message : "";
    }
    expect(shown).toBe(expected);
  });

  test.each(casesOf("page-find"))("$id", ({ input, expected }) => {
    const { cursor, pattern, text, ...page } = pageInput.parse(input);
    const found = findInPage({ ...page, lines: text, links: [] }, pattern);
    // The cases show the whole page, not a window of it.
    expect(showPage(found, { cursor, loc: 0, lines: 500 }, o200kHarmony())).toBe(expected);
  });

  test.each(casesOf("strip-links"))("$id", ({ input, expected }) => {
    expect(stripLinks(String(input["text"]))).toBe(expected);
  });

  test.each(casesOf("wrap"))("$id", ({ input, expected }) => {
    expect(wrapLines(String(input["text"]), Number(input["width"]))).toEqual(expected);
  });
});

describe("prompts", () => {
  const python = (id: string) => {
    const text = String(casesOf("render-section").find((each) => each.id === id)?.expected);
    const description = text.slice(text.indexOf("## python\n\n") + "## python\n\n".length);
    return { key: "python", name: "python", description, functions: [] };
  };
  const stateful = python("section-python-stateful");
  const systemInput = z.object({
    system: z.object({
      identity: z.string(),
      knowledgeCutoff: z.string(),
      date: z.string(),
      effort: z.enum(["low", "medium", "high"]),
      builtinTools: z.array(z.string()),
    }),
    developer: z
      .object({
        functions: z.array(
          z.object({ name: z.string(), description: z.string(), parameters: z.unknown() }),
        ),
      })
      .optional(),
  });
  const namespacesOf = (names: readonly string[]) =>
    names.map((name) => (name === "browser" ? BROWSER_NAMESPACE : stateful));

  test.each(casesOf("render"))("$id", ({ input, expected }) => {
    const { system, developer } = systemInput.parse(input);
    const { builtinTools, ...options } = system;
    const own = developer?.functions.map(({ parameters, ...each }) => ({
      ...each,
      parameters: fromPlainJson(parameters),
    }));
    const message = own && developerMessage({ functions: own });
    const messages = [
      systemMessage({ ...options, namespaces: namespacesOf(builtinTools) }),
      ...(message ? [message] : []),
    ];
    const { ids } = createRenderer().renderCompletion({ messages });
    expect(o200kHarmony().decode(ids)).toBe(expected);
  });

  const sections = casesOf("render-section");
  const isChannelLine = ({ id }: ToolCase) => id.startsWith("channel-line");

  test.each(sections.filter(isChannelLine))("$id", ({ input, expected }) => {
    const content = {
      type: "system" as const,
      channels: ["analysis", "commentary", "final"],
      channelsRequired: true,
      namespaces: [BROWSER_NAMESPACE],
    };
    expect(systemText(content, input["functions"] === true)).toContain(String(expected));
  });

  test.each(sections.filter((each) => !isChannelLine(each)))("$id", ({ id, input, expected }) => {
    const names = z.array(z.string()).parse(input["builtinTools"]);
    const namespaces = names.map((name) => {
      if (name === "python")
        return python(id.startsWith("section-python") ? id : "section-python-stateful");
      const source = input["browserSourceLine"];
      const description = BROWSER_NAMESPACE.description?.replace(/sources=.*$/, String(source));
      return source === undefined
        ? BROWSER_NAMESPACE
        : { ...BROWSER_NAMESPACE, ...(description && { description }) };
    });
    expect(toolsSection(namespaces)).toBe(expected);
  });

  test.each(casesOf("render-message"))("$id", ({ input, expected }) => {
    const { call, output } = z
      .object({
        call: z.object({ recipient: z.string(), channel: z.string() }),
        output: z.string(),
      })
      .parse(input);
    const { ids } = createRenderer().renderMessage({
      role: "tool",
      name: call.recipient,
      recipient: "assistant",
      channel: call.channel,
      content: output,
    });
    const text = o200kHarmony().decode(ids);
    const special = ids.filter((id) => id >= 199_998).length;
    // One case is about the ids alone: the spelling of a control token is ordinary text.
    expect([text, special]).toEqual([typeof expected === "string" ? expected : text, 4]);
  });
});

/** The members of a call that a case can define. */
function outline(part: FinishedPart | undefined, { end }: FinishedTurn) {
  switch (part?.kind) {
    case "builtin-call": {
      const [call] = part.result?.messages ?? [];
      return {
        name: part.name,
        body: part.name === "python" ? part.text : JSON.parse(part.text),
        channel: call?.channel,
        contentType: call?.contentType,
        repairs: [...end.recoveries.keys()],
      };
    }
    case "tool-call":
      return { function: part.name, arguments: part.text };
    default:
      return "no call";
  }
}

/** The call that a case expects, with the turn's own values where the case defines none. */
function outlineOf(wanted: ExpectedCall, turn: FinishedTurn) {
  const first = turn.parts.find(({ kind }) => kind !== "reasoning");
  const [call] = first?.kind === "builtin-call" ? (first.result?.messages ?? []) : [];
  const repairs = (wanted.repair?.split(",") ?? []).map((name) =>
    name === "json-wrapped-code" ? "wrapped-code" : name,
  );
  switch (wanted.type) {
    case "builtin-call":
      return {
        name: wanted.function === undefined ? "python" : `browser.${wanted.function}`,
        body: wanted.code ?? wanted.args ?? {},
        channel: wanted.channel ?? call?.channel,
        contentType: wanted.contentType ?? call?.contentType,
        repairs: wanted.invalid ? [...turn.end.recoveries.keys()] : repairs,
      };
    case "function-call":
      return { function: wanted.name, arguments: wanted.arguments };
    default:
      return "no call";
  }
}

const expectedCall = z.object({
  type: z.string(),
  tool: z.string().optional(),
  function: z.string().optional(),
  args: z.unknown().optional(),
  code: z.string().optional(),
  channel: z.string().optional(),
  contentType: z.string().optional(),
  name: z.string().optional(),
  arguments: z.string().optional(),
  toolResult: z.string().optional(),
  repair: z.string().optional(),
  invalid: z.boolean().optional(),
});

type ExpectedCall = z.infer<typeof expectedCall>;

describe("calls", () => {
  const input = z.object({
    text: z.string(),
    builtinTools: z.array(z.string()),
    functions: z.array(z.string()),
  });
  test.each(casesOf("parse-call"))("$id", async (each) => {
    const { text, builtinTools, functions } = input.parse(each.input);
    const wanted = expectedCall.parse(
      Array.isArray(each.expected) ? each.expected.at(-1) : each.expected,
    );
    const tools = builtinTools.map((name) =>
      name === "python"
        ? fakeTool({ accepts: (to) => to === "python" })
        : fakeTool({
            name: "browser",
            namespace: BROWSER_NAMESPACE,
            rawBody: false,
            accepts: (to) => to.startsWith("browser"),
          }),
    );
    const engine = scriptedEngine([text, "<|channel|>final<|message|>ok<|return|>"]);
    const offered = { tools: functions.map((name) => offeredTool(name)) };
    const turn = await finishTurn(
      engine,
      tools.length > 0
        ? turnWithTools(tools, {}, offered)
        : {
            ...turnWithTools([], {}, offered),
            gatewayTools: { tools: [], maxCalls: 1, citations: "link" },
          },
    );
    const first = turn.parts.find(({ kind }) => kind !== "reasoning");
    expect(outline(first, turn)).toEqual(outlineOf(wanted, turn));
  });
});

describe("citations", () => {
  const annotated = z.object({
    text: z.string(),
    annotations: z.array(
      z.object({
        url: z.string(),
        title: z.string(),
        start_index: z.number(),
        end_index: z.number(),
      }),
    ),
  });

  function cite(
    text: string,
    find: (cursor: number) => { url: string; title: string } | undefined,
    mode: "link" | "cut" = "link",
  ) {
    const whole = createCitationFilter(mode, find);
    const { text: before, citations: some } = whole.push(text);
    const held = whole.end();
    // The outcome does not depend on how the text is split.
    const split = createCitationFilter(mode, find);
    const pieces = text.split("").map((unit) => split.push(unit));
    pieces.push(split.end());
    expect(pieces.map((piece) => piece.text).join("")).toBe(before + held.text);
    expect(pieces.flatMap((piece) => piece.citations)).toEqual([...some, ...held.citations]);
    return { text: before + held.text, held: held.text, citations: [...some, ...held.citations] };
  }

  const stack = (input: ToolCase["input"]) => {
    const urls = z.array(z.string()).parse(input["pageStack"]);
    return (cursor: number) => {
      const url = urls[cursor];
      return url ? { url, title: "" } : undefined;
    };
  };

  test.each(casesOf("citation-reference"))(
    "$id: the sources the reference finds",
    ({ id, input, expected }) => {
      const { annotations } = annotated.parse(expected);
      const { text, citations } = cite(String(input["text"]), stack(input));
      // Brackets that models confuse are read, too. The reference does not find them.
      const urls =
        id === "cite-wrong-brackets"
          ? ["https://www.boj.or.jp/en/mopo/"]
          : annotations.map(({ url }) => url);
      expect(citations.map(({ url }) => url)).toEqual(urls);
      for (const { start, end, url } of citations) {
        expect(text.slice(start, end)).toBe(` ([${new URL(url).hostname}](${url}))`);
      }
    },
  );

  test.each(casesOf("citation-stream-hold"))("$id", ({ input, expected }) => {
    const { text, hasPartial } = z
      .object({ text: z.string(), hasPartial: z.boolean() })
      .parse(expected);
    const filter = createCitationFilter("link", stack(input));
    const shown = filter.push(String(input["text"])).text;
    const rest = filter.end().text;
    expect(rest !== "").toBe(hasPartial);
    // The reference writes a space behind the link.
    expect(shown).toBe(text.replace(")) ", "))"));
  });

  test.each(casesOf("citation-gateway"))("$id", ({ input, expected }) => {
    const pages = z
      .array(z.object({ url: z.string(), title: z.string(), of: z.number().optional() }))
      .parse(input["pages"]);
    const find = (cursor: number) => {
      const page = pages[cursor];
      const source = page?.of === undefined ? page : pages[page.of];
      return source && source.url !== "" ? { url: source.url, title: source.title } : undefined;
    };
    const mode = input["answerFormat"] === "json" ? "cut" : "link";
    const wanted = annotated.parse(expected);
    const { text, citations } = cite(String(input["text"]), find, mode);
    expect(text).toBe(wanted.text);
    expect(citations).toEqual(
      wanted.annotations.map((each) => ({
        url: each.url,
        title: each.title,
        start: each.start_index,
        end: each.end_index,
      })),
    );
  });
});
