/**
 * Results of a hostile MCP server, search service and page, in the chat and in the inspector: they are shown, and nothing of
 * them runs.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { listenAnywhere } from "../helpers/listen.ts";
import { startMcpServer } from "../helpers/mcp-server.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";
import { answered, chooseApi, openChat, send, toFinal } from "./chat-page.ts";
import { type Browser, launchBrowser, MISSING, type Page } from "./driver.ts";
import { TOKEN } from "./turns.ts";

let browser: Browser;

beforeAll(async () => {
  if (MISSING === undefined) browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
});

const HOSTILE = readFileSync(new URL("hostile-answer.txt", import.meta.url), "utf8");
/** Escape sequences of terminals, an override of the writing direction, and a page of one word. */
const ODD = `\u001B[31m\u001B]0;title\u0007 \u202Egnp.exe\u202C ${"A".repeat(30_000)}`;
const FORMULA = String.raw`$\href{javascript:alert(1)}{x}$ $$\includegraphics{https://evil.example/f}$$`;
/** The model's answer, as hostile as the page that it has read. 【1†…】 cites the page, 【0†…】 its search, 【7†…】 nothing. */
const END = toFinal(
  `【1†L1-L3】【0†L2】【7†L1】 ${FORMULA} [a](javascript:alert(1)) ![b](https://evil.example/b) \u202Etxt.exe\u202C The end.`,
);

interface Source {
  readonly settings: object;
  /** Changes the chat's settings. */
  readonly label: string;
  readonly calls: readonly string[];
}

const browse = (name: string, given: object) =>
  `<|channel|>analysis to=browser.${name} code<|message|>${JSON.stringify(given)}<|call|>`;
const BROWSER = "Browser: search and read pages";

const SOURCES: Readonly<Record<string, () => Promise<Source>>> = {
  async "an MCP server"() {
    const server = await startMcpServer({
      tools: () => [
        {
          name: "read",
          description: `<script>globalThis.hacked = 1</script> ${HOSTILE}`,
          inputSchema: { type: "object", properties: { word: { type: "string" } } },
          annotations: { readOnlyHint: true, title: "<img src=x onerror=alert(1)>" },
        },
      ],
      answer: () => `${HOSTILE}\n${ODD}`,
    });
    const call =
      "<|channel|>analysis<|message|>I look.<|end|><|start|>assistant<|channel|>commentary to=evil.read " +
      '<|constrain|>json<|message|>{"word":"<img src=x onerror=alert(1)>"}<|call|>';
    return {
      settings: { mcpServers: { evil: { url: server.url } } },
      label: "MCP server evil",
      calls: [call],
    };
  },
  async "a search service"() {
    const found = [
      "javascript:alert(1)",
      "data:text/html,<script>alert(1)</script>",
      `https://evil.example/"onclick="alert(1)?<img src=x onerror=alert(1)>`,
      "https://evil.example/)](javascript:alert(1)",
      `https://\u202Emoc.elpmaxe/${"a".repeat(4000)}`,
    ];
    const results = found.map((url) => ({ url, title: `${HOSTILE} ${FORMULA}`, content: ODD }));
    const service = createServer((_, response) => response.end(JSON.stringify({ results })));
    const port = await listenAnywhere(service);
    onTestFinished(() => void service.close());
    return {
      settings: {
        builtinTools: ["browser"],
        browserSearch: "searxng",
        browserSearchUrl: `http://127.0.0.1:${port}`,
      },
      label: BROWSER,
      calls: [browse("search", { query: "<img src=x onerror=alert(1)> \u202Egnp" })],
    };
  },
  async "a page"() {
    const folder = mkdtempSync(join(tmpdir(), "hostile-page-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const links = `<a href="javascript:alert(1)">x</a><a href="data:text/html,<script>alert(1)</script>">y</a>`;
    // Escaped, the result is the page's text; unescaped, it would be the page's markup.
    const escaped = HOSTILE.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
    writeFileSync(
      join(folder, `a" onclick=alert(1) )](javascript:alert(1)) '<img src=x>.html`),
      `<title>Hostile ${escaped} ${ODD}</title>${links}<p>${escaped} ${FORMULA} ${ODD}</p>${HOSTILE}`,
    );
    return {
      settings: { builtinTools: ["browser"], browserSearchFolder: folder },
      label: BROWSER,
      calls: [
        browse("search", { query: "hostile" }),
        browse("open", { cursor: 0, id: 0 }),
        browse("open", { cursor: 1, id: 0 }),
        browse("find", { cursor: 1, pattern: "<script>" }),
      ],
    };
  },
};

const ELEMENTS = ["img", "iframe", "form[action]", "object", "video", "script:not([src])"];

async function expectInert(page: Page, container: string): Promise<void> {
  for (const selector of ELEMENTS) {
    const count = await page.locator(`${container} ${selector}`).count();
    expect([selector, count]).toEqual([selector, 0]);
  }
  const links = `[...document.querySelectorAll("${container} a")].map((link) => link.href)`;
  const hrefs = await page.evaluate<readonly string[]>(links);
  expect(hrefs.filter((href) => !/^(?:https?:|mailto:|$)/.test(href))).toEqual([]);
  const handlers = `[...document.querySelectorAll("${container} *")].flatMap((each) => each.getAttributeNames()).filter((name) => name.startsWith("on"))`;
  expect(await page.evaluate(handlers)).toEqual([]);
  expect(await page.evaluate("globalThis.hacked")).toBeUndefined();
}

describe.skipIf(MISSING !== undefined)(
  `hostile results (${MISSING === undefined ? "Chromium" : `skipped: ${MISSING}`})`,
  () => {
    test.each([
      ["an MCP server", "chat"],
      ["an MCP server", "responses"],
      ["a search service", "chat"],
      ["a search service", "responses"],
      ["a search service", "messages"],
      ["a page", "chat"],
      ["a page", "responses"],
      ["a page", "messages"],
    ])("of %s by %s are text, in both pages", async (name, api) => {
      const source = await SOURCES[name]?.();
      if (source === undefined) throw new Error(name);
      const settings = { ...source.settings, inspect: true, inspectKey: TOKEN };
      const engine = scriptedEngine([...source.calls, END]);
      const { page, gateway, problems, requested, dialogs } = await openChat(browser, engine, {
        settings,
      });
      page.setDefaultTimeout(25_000);
      await chooseApi(page, api);
      await page.getByLabel(source.label).click();
      await send(page, "Look.");
      await answered(page, "The end.");
      expect(engine.prompts).toHaveLength(source.calls.length + 1);
      await page.evaluate(
        'for (const each of document.querySelectorAll("#app details")) each.open = true',
      );
      await expectInert(page, "#app");
      const shown = `[...document.querySelectorAll(".call .value")].map((each) => each.innerText).join()`;
      expect(await page.evaluate(shown)).toContain("globalThis.hacked");

      await page.goto(`${gateway.origin}/inspect#token=${TOKEN}`);
      await page.getByText("Look.").first().click();
      await page.locator('#app main:has-text("globalThis.hacked")').waitFor();
      await expectInert(page, "#app");
      expect(requested.every((url) => url.startsWith(gateway.origin))).toBe(true);
      expect([dialogs(), problems]).toEqual([0, []]);
    });
  },
);
