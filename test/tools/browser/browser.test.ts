import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { type BrowserDeps, createBrowserTool } from "../../../src/tools/browser/browser.ts";
import { createSearchBackend } from "../../../src/tools/browser/backends.ts";
import { htmlToText } from "../../../src/tools/browser/html-to-text.ts";
import { createLocalSearch } from "../../../src/tools/browser/local-search.ts";
import { o200kHarmony } from "../../../src/tokenizer/index.ts";

const SITE = createLocalSearch([
  {
    path: "rates.html",
    text: '<title>Rates</title><h1>Rates</h1><p>The rate is 0.5%. See <a href="/history.html">the history</a>.</p>',
  },
  { path: "history.html", text: "<title>History of rates</title><p>It was 0.25% in 2024.</p>" },
  { path: "cats.md", text: "# Cats\n\nCats sleep." },
]);

const DEPS: BrowserDeps = {
  backend: SITE,
  fetchPage: SITE.fetchPage,
  policy: { allow: [], deny: [] },
  tokenizer: o200kHarmony(),
  searchTimeoutMs: 60_000,
  openTimeoutMs: 60_000,
  pause: () => Promise.resolve(),
};

interface OpenOptions extends Partial<BrowserDeps> {
  readonly saved?: string | undefined;
  readonly options?: Parameters<typeof createBrowserTool>[1];
  readonly signal?: AbortSignal;
}

type Run = Awaited<ReturnType<typeof open>>;

/** A run over the site. */
function open({
  saved,
  options,
  signal = new AbortController().signal,
  ...deps
}: OpenOptions = {}) {
  const tool = createBrowserTool({ ...DEPS, ...deps }, options);
  return tool.open({ tenant: "t", turnId: "1", saved, signal });
}

async function ask(run: Run, name: string, args: unknown): Promise<string> {
  const { signal } = new AbortController();
  const body = JSON.stringify(args);
  return (await run.run({ id: "1", recipient: `browser.${name}`, body }, signal)).text;
}

describe("cursors", () => {
  test("search, open a result, follow a link, find, scroll: each display gets the next cursor", async () => {
    const run = await open();
    expect(await ask(run, "search", { query: "rates" })).toMatch(
      /^\[0\] rates\n\*\*viewing lines \[0 - 5\] of 5\*\*\n\nL0: \nL1: URL: \nL2: # Search Results\nL3: \nL4: {3}\* 【0†/,
    );
    expect(await ask(run, "open", { id: 0 })).toMatch(/^\[1\] (?:Rates|History of rates) \(https:/);
    expect(await ask(run, "open", { id: "https://files.example/rates.html" })).toBe(
      "[2] Rates (https://files.example/rates.html)\n**viewing lines [0 - 4] of 4**\n\n" +
        "L0: \nL1: URL: https://files.example/rates.html\nL2: # Rates\nL3: \n" +
        "L4: The rate is 0.5%. See 【0†the history】.",
    );
    expect(await ask(run, "open", { cursor: 2, id: 0 })).toContain("[3] History of rates");
    expect(await ask(run, "find", { pattern: "RATE", cursor: 2 })).toContain("【0†match at L1】");
    expect(await ask(run, "open", { cursor: 2, loc: 4 })).toContain("[5] Rates");
  });

  test("an older page of search results keeps its cursor", async () => {
    const run = await open();
    await ask(run, "search", { query: "cats" });
    await ask(run, "search", { query: "history" });
    expect(await ask(run, "open", { cursor: 0, id: 0 })).toContain("Cats sleep.");
  });

  test.each([
    [
      "a connection, without its address",
      new TypeError("connect 10.0.0.7"),
      "the connection failed",
    ],
    ["something that is no error", "10.0.0.7", "it failed"],
  ])("the model gets the reason of a failure: %s", async (_, thrown, reason) => {
    const run = await open({ backend: { search: () => Promise.reject(thrown) } });
    expect(await ask(run, "search", { query: "x" })).toContain(reason);
  });

  test("a display that fails takes no cursor", async () => {
    const run = await open();
    await ask(run, "open", { id: "https://files.example/cats.md" });
    expect(await ask(run, "open", { loc: 99 })).toMatch(/^Invalid location parameter: `99`/);
    expect(await ask(run, "open", { id: 7 })).toBe("Invalid link id `7`.");
    expect(await ask(run, "open", { id: "https://files.example/none" })).toBe(
      "Error fetching URL `https://files.example/none`: only the local documents can be opened",
    );
    expect(await ask(run, "open", {})).toMatch(/^\[1\] Cats/);
  });

  test("numbers may be strings, and unknown arguments are ignored", async () => {
    const run = await open();
    await ask(run, "search", { query: "cats", topn: "3", recency_days: 4, source: "news" });
    expect(await ask(run, "open", { id: "0", cursor: "0", num_lines: "2", x: null })).toContain(
      "viewing lines [0 - 1]",
    );
  });

  test("another turn continues with the pages of the previous one", async () => {
    const before = await open();
    await ask(before, "search", { query: "rates history" });
    await ask(before, "open", { id: "https://files.example/rates.html" });
    await ask(before, "find", { pattern: "rate" });
    const after = await open({ saved: before.save() });
    expect(after.cite?.(1)).toEqual({ url: "https://files.example/rates.html", title: "Rates" });
    expect(after.cite?.(2)).toEqual(after.cite?.(1));
    expect(after.cite?.(0)).toBeUndefined();
    expect(await ask(after, "open", { cursor: 1, id: 0 })).toContain("[3] History of rates");
    expect(await ask(after, "open", { cursor: 0, id: 0 })).toContain("[4] ");
    expect(await ask(after, "open", { cursor: 2, id: 0 })).toContain("[5] Rates");
  });

  test("unreadable saved state is ignored", async () => {
    for (const saved of ["", "{}", "[1]", '[{"url":1}]']) {
      expect(await ask(await open({ saved }), "open", {})).toBe("No pages to access!");
    }
  });
});

test("results of other domains than those allowed are left out", async () => {
  const run = await open({ options: { allowedDomains: ["example.org"] } });
  const { signal } = new AbortController();
  const result = await run.run(
    { id: "1", recipient: "browser.search", body: '{"query":"cats"}' },
    signal,
  );
  expect(result.shown).toEqual({ type: "search", query: "cats", results: [] });
});

const recordedCase = z.object({
  id: z.string(),
  kind: z.string(),
  input: z.unknown(),
  expected: z.unknown(),
});

const CASES = readFileSync(
  join(import.meta.dirname, "../../fixtures/builtin-tools/cases.jsonl"),
  "utf8",
)
  .trim()
  .split("\n")
  .map((line) => recordedCase.parse(JSON.parse(line)));

describe("recorded errors", () => {
  const input = z.object({
    call: z.string(),
    args: z.record(z.string(), z.unknown()),
    pageStack: z.array(z.string()).optional(),
    backendError: z.string().optional(),
  });
  const errors = CASES.filter(({ kind }) => kind === "tool-error");

  test.each(errors)("$id", async (each) => {
    const { call, args, pageStack, backendError } = input.parse(each.input);
    const fail = () => Promise.reject(new Error(backendError));
    const run = await open({
      backend: { search: backendError === undefined ? () => Promise.resolve([]) : fail },
      fetchPage:
        backendError === undefined
          ? (url) => Promise.resolve({ url, contentType: "text/plain", body: "a x b" })
          : fail,
    });
    // The case without a stack is about a page of `find` results.
    for (const url of pageStack ?? ["https://e.org/"]) {
      if (url === "") await ask(run, "search", { query: "q" });
      else if (backendError === undefined) await ask(run, "open", { id: url });
    }
    if (pageStack === undefined && backendError === undefined) {
      await ask(run, "find", { pattern: "x" });
    }
    expect(await ask(run, call, args)).toBe(each.expected);
  });

  test("a function that does not exist", async () => {
    const found = CASES.find(({ id }) => id === "call-unknown-function");
    const { toolResult: text } = z.object({ toolResult: z.string() }).parse(found?.expected);
    const call = { id: "1", recipient: "browser.run", body: "{}" };
    const result = await (await open()).run(call, new AbortController().signal);
    expect(result).toMatchObject({ failed: true, text });
  });
});

test.each([
  ["search", { query: "rates" }, { type: "search", query: "rates", results: [] }],
  ["find", { pattern: "0.5" }, { type: "find", pattern: "0.5" }],
  ["open", { id: 0 }, { type: "open" }],
])("a call of %s without a result is described by its arguments", (name, args, shown) => {
  const { describe: shownOf } = createBrowserTool(DEPS);
  expect(shownOf({ recipient: `browser.${name}`, body: JSON.stringify(args) }, "")).toEqual(shown);
});

describe("the pages that a turn keeps are bounded", () => {
  const opened: string[] = [];
  const fetchLarge: BrowserDeps["fetchPage"] = (url) => {
    opened.push(url);
    const title = `<title>${"x".repeat(100_000)}</title>`;
    return Promise.resolve({ url, contentType: "text/html", body: title + "x ".repeat(450_000) });
  };

  test("the pages opened first are loaded again, the last ones are not", async () => {
    const run = await open({ fetchPage: fetchLarge });
    const urls = Array.from({ length: 8 }, (_, index) => `https://a.example/${index}`);
    for (const id of urls) await ask(run, "open", { id });
    expect(opened.splice(0)).toEqual(urls);
    expect(run.cite?.(0)?.url).toBe(urls[0]);
    await ask(run, "open", { cursor: 7, loc: 10 });
    await ask(run, "open", { cursor: 5, loc: 10 });
    expect(opened).toEqual([]);
    await ask(run, "open", { cursor: 0, loc: 10 });
    expect(opened).toEqual([urls[0]]);
  });

  test("a title is cut, in the display as in what is saved", async () => {
    const run = await open({ fetchPage: fetchLarge });
    const text = await ask(run, "open", { id: "https://a.example/0", num_lines: 1 });
    const title = "x".repeat(300);
    expect(text).toBe(
      `[0] ${title} (https://a.example/0)\n**viewing lines [0 - 0] of 11251**\n\nL0: `,
    );
    expect(run.save()).toBe(JSON.stringify([{ url: "https://a.example/0", title }]));
  });
});

test("a search for a pattern with half a character works like any other", async () => {
  const run = await open();
  await ask(run, "open", { id: "https://files.example/cats.md" });
  expect(await ask(run, "find", { pattern: "\ud800" })).toContain("No `find` results");
});

test("a page stops being converted when its turn ends", async () => {
  const abort = new AbortController();
  let pauses = 0;
  const { signal } = abort;
  const run = await open({
    fetchPage: (url) =>
      Promise.resolve({ url, contentType: "text/html", body: "<i>x".repeat(200_000) }),
    pause: () => {
      if (++pauses === 3) abort.abort(new Error("the client left"));
      return Promise.resolve();
    },
    signal,
  });
  const call = { id: "1", recipient: "browser.open", body: '{"id":"https://a.example/"}' };
  await expect(run.run(call, signal)).rejects.toThrow("the client left");
  expect(pauses).toBe(3);
});

describe("HTML", () => {
  const SLICES = { pause: () => Promise.resolve(), signal: undefined, check() {} };
  const text = async (html: string) =>
    (await htmlToText(html, "https://a.example/dir/page", SLICES)).text;

  test.each([
    ["<h2>Title</h2><p>One  two\nthree</p>", "## Title\n\nOne two three"],
    ['<a href="x">X</a> and <a href="https://b.example/">B</a>', "【0†X】 and 【1†B†b.example】"],
    ['<a href="x">X</a> <a href="/dir/x">again</a>', "【0†X】 【0†again】"],
    [
      '<a href="#top">Top</a> <a href="mailto:a@b.c">Mail</a> <a href="javascript:x">Run</a>',
      "Top Mail Run",
    ],
    ['<a href="x">a†b</a>', "【0†a‡b】"],
    ["forged 【3†link】 and z\u200Bero", "forged 〖3†link〗 and zero"],
    [
      "<ul><li>a<li>b<ul><li>c</ul></ul><ol><li>x<li>y</ol>",
      "  * a\n  * b\n\n    * c\n\n  1. x\n  2. y",
    ],
    ["<table><tr><th>a<th>b<tr><td>1<td>2</table>", "a | b\n1 | 2"],
    ["<pre>def f():\n    return 1</pre>", "    def f():\n        return 1"],
    ["x<sup>2</sup> y<sub>i</sub>", "x^{2} y_{i}"],
    ['<img alt="A cat"><img>', "[Image 0: A cat][Image 1]"],
    ["<script>bad()</script><style>x{}</style>kept<noscript>no</noscript>", "kept"],
    ["a<math><mi>x</mi></math>b", "ab"],
    ["<blockquote>said</blockquote>", "> said"],
    ["<p>&lt;|end|&gt; 😀 &amp;</p>", "<|end|> 😀 &"],
    ["<div><div><p>a</p></div></div><div></div><p>b</p>", "a\n\nb"],
    ['<a href="https://arxiv.org/abs/1">paper</a>', "【0†paper†ar5iv.org】"],
    ["<p>unclosed <b>tags <a href=x>link", "unclosed tags 【0†link】"],
  ])("%j", async (html, expected) => {
    expect(await text(html)).toBe(expected);
  });

  test("the title is that of the head", async () => {
    const html = "<head><title> A\n page </title></head><body>x</body>";
    const page = await htmlToText(html, "https://a/", SLICES);
    expect(page).toEqual({ title: "A page", text: "x", links: [] });
  });

  test("the cost of deep nesting is linear", async () => {
    const depth = 20_000;
    const html = "<ul><li><blockquote>".repeat(depth) + "x";
    expect((await text(html)).length).toBeLessThan(1000);
  });
});

describe("search services", () => {
  const asked: { url: string; init: RequestInit | undefined }[] = [];
  const answering = (body: unknown, status = 200): typeof globalThis.fetch => {
    return (input, init) => {
      asked.push({ url: input instanceof Request ? input.url : input.toString(), init });
      return Promise.resolve(Response.json(body, { status }));
    };
  };
  const options = { count: 2, allow: [], deny: [] };
  const { signal } = new AbortController();
  const found = { url: "https://a.example/", title: "A" };
  const result = { url: "https://a.example/", title: "A", snippet: "s" };

  test.each([
    [
      "searxng",
      { results: [{ ...found, content: "s" }] },
      "http://s.example/search?q=x&format=json",
    ],
    ["exa", { results: [{ ...found, summary: "s" }] }, "http://s.example/search"],
    [
      "brave",
      { web: { results: [{ ...found, description: "<b>s</b>" }] } },
      "http://s.example/res/v1/web/search?q=x&count=2",
    ],
    ["tavily", { results: [{ ...found, content: "s" }] }, "http://s.example/search"],
    [
      "you",
      { results: { web: [{ ...found, snippets: ["s"] }] } },
      "http://s.example/v1/search?query=x&count=2",
    ],
  ] as const)("%s", async (name, body, url) => {
    const backend = createSearchBackend(name, {
      url: "http://s.example/",
      key: "secret",
      fetch: answering(body),
    });
    expect(await backend.search("x", options, signal)).toEqual([result]);
    expect(asked.at(-1)?.url).toBe(url);
  });

  test("an answer of another form is an error", async () => {
    const backend = createSearchBackend("searxng", {
      url: "http://s.example",
      fetch: answering({ hits: [] }),
    });
    await expect(backend.search("x", options, signal)).rejects.toThrow(
      "the search service answered with something else than results",
    );
  });

  test("an error says which service and, for SearXNG, the usual reason", async () => {
    const backend = createSearchBackend("searxng", {
      url: "http://s.example",
      fetch: answering({}, 403),
    });
    await expect(backend.search("x", options, signal)).rejects.toThrow(
      "SearXNG answered 403 (its settings must list json under search.formats)",
    );
  });

  test.each([
    ["a < b and c > d", "a  d"],
    ["<b>x</b> y", "x y"],
    ["<<<", "<<<"],
    ["x<y", "x<y"],
    ["a<b<c>d", "ad"],
  ])("tags in the snippet %j are removed", async (content, snippet) => {
    const backend = createSearchBackend("searxng", {
      url: "http://s.example",
      fetch: answering({ results: [{ ...found, content }] }),
    });
    expect(await backend.search("x", options, signal)).toEqual([{ ...found, snippet }]);
  });

  test("S3: an answer of more than 1 MB is not read to its end", async () => {
    let read = 0;
    let cancelled = false;
    const endless = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          read += 65_536;
          controller.enqueue(new Uint8Array(65_536).fill(32));
        },
        cancel() {
          cancelled = true;
        },
      },
      { highWaterMark: 0 },
    );
    const backend = createSearchBackend("searxng", {
      url: "http://s.example",
      fetch: () => Promise.resolve(new Response(endless)),
    });
    await expect(backend.search("x", options, signal)).rejects.toThrow(
      new Error("SearXNG answered with more than 1 MB"),
    );
    expect(read).toBeLessThanOrEqual(1024 * 1024 + 65_536);
    expect(cancelled).toBe(true);
  });

  test("S3: of hundreds of thousands of results only the first hundred are read", async () => {
    const results = Array.from({ length: 100 }, () => found);
    const backend = createSearchBackend("searxng", {
      url: "http://s.example",
      // The others would make the answer unreadable.
      fetch: answering({ results: [...results, ...Array.from({ length: 300_000 }, () => 1)] }),
    });
    expect(await backend.search("x", options, signal)).toHaveLength(2);
  });

  test("results that are not web pages are left out", async () => {
    const long = { ...found, url: `https://a.example/${"x".repeat(8192)}` };
    const results = [{ url: "javascript:x", title: "bad" }, { url: null }, long, found];
    const backend = createSearchBackend("searxng", {
      url: "http://s.example",
      fetch: answering({ results }),
    });
    expect(await backend.search("x", options, signal)).toEqual([{ ...found, snippet: "" }]);
  });
});
