/** Appearance of the chat: colours, dialogs, sizes, and the order of the focus. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { serveGateway } from "../../src/node/server/serve.ts";
import { startTestGateway, testLog, testSettings } from "../helpers/gateway.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";
import { answered, openChat, REASONED, send, toFinal, chooseApi, openPane } from "./chat-page.ts";
import { type Browser, launchBrowser, MISSING, type Page } from "./driver.ts";
import { checkAxe, openPage } from "./open.ts";

let browser: Browser;

beforeAll(async () => {
  if (MISSING === undefined) browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
});

const background = (page: Page) =>
  page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
const LIGHT = "rgb(247, 247, 245)";
const DARK = "rgb(21, 22, 26)";

describe.skipIf(MISSING !== undefined)(
  `the face of the chat (${MISSING === undefined ? "Chromium" : `skipped: ${MISSING}`})`,
  () => {
    test("the chosen colours hold on each page, from its HTML on, and after a reload", async () => {
      const settings = { inspect: true };
      const { page, gateway, problems } = await openChat(browser, scriptedEngine([]), { settings });
      await page.emulateMedia({ colorScheme: "light" });
      const press = async (before: string) => {
        await page.getByRole("button", { name: `Colours: ${before}` }).click();
      };
      expect(await background(page)).toBe(LIGHT);
      await press("system");
      await press("light");
      await page.getByRole("button", { name: "Colours: dark" }).waitFor();
      expect(await background(page)).toBe(DARK);
      await checkAxe(page, "dark by choice");
      await page.emulateMedia({ colorScheme: "light" });
      for (const path of ["/inspect", "/api", "/"]) {
        await page.goto(`${gateway.origin}${path}`);
        expect([path, await background(page)]).toEqual([path, DARK]);
      }
      const written = await page.evaluate<string>(
        "fetch('./', { headers: { accept: 'text/html' } }).then((page) => page.text())",
      );
      expect(written).toContain('<body data-theme="dark"');
      await press("dark");
      await page.reload();
      await page.getByRole("button", { name: "Colours: system" }).waitFor();
      expect(await background(page)).toBe(LIGHT);
      expect(problems).toEqual([]);
    });

    test("formulas are drawn in answers and thoughts, and unknown TeX stays as written", async () => {
      const answer =
        "It is $x_1 = \\frac{-b}{2a}$, so\n\\[\nx^2 + y^2\n= 1\n\\]\nbut not $\\nosuch{1}$ for $5 or $6.";
      const thought = "**Recall** \\(a^2\\).";
      const engine = scriptedEngine([
        `<|channel|>analysis<|message|>${thought}<|end|><|start|>assistant${toFinal(answer)}`,
        toFinal("No formula here."),
      ]);
      const { page, problems, requested } = await openChat(browser, engine);
      await send(page, "Quadratic?");
      await page.locator(".answer.done tex-formula[display] math").waitFor();
      await expect.poll(() => page.locator(".answer .text math").count()).toBe(3);
      expect(await page.locator("tex-formula[display] math").getAttribute("display")).toBe("block");
      expect(await page.locator(".answer mfrac").count()).toBe(1);
      await page.locator(".text p:has-text('$\\\\nosuch{1}$ for $5 or $6.')").waitFor();
      await page.locator(".reasoning summary").click();
      expect(await page.locator(".thought strong").innerText()).toBe("Recall");
      await page.locator(".thought math").waitFor();
      await checkAxe(page, "formulas");
      expect(requested).not.toContain(expect.stringContaining("elsewhere"));
      expect(problems).toEqual([]);
    });

    test.each(["chat", "responses", "messages"])(
      "%s: a call of python shows its code",
      async (api) => {
        const code = "import math\nprint(math.pi)";
        const engine = scriptedEngine([
          `<|channel|>analysis to=python code<|message|>${code}<|call|>`,
          toFinal("Done."),
        ]);
        // No sandbox answers: the call has a result that says so.
        const settings = {
          builtinTools: ["python"],
          pythonRuntime: "http",
          pythonUrl: "http://127.0.0.1:1/run",
        };
        const { page, problems } = await openChat(browser, engine, { settings });
        await chooseApi(page, api);
        await openPane(page, "Settings");
        await page.getByLabel("Python: run code").click();
        await send(page, "Pi?");
        await answered(page, "Done.");
        expect(await page.locator(".answer .call pre code").innerText()).toBe(code);
        expect(problems).toEqual([]);
      },
    );

    test("the three pages have one bar at the top, which marks where the reader is", async () => {
      const settings = { inspect: true };
      const { page, gateway, problems } = await openChat(browser, scriptedEngine([]), { settings });
      // The width is left out: the bold name of the current page changes it.
      const look = `[".top", ".brand", ".logo", ".places", ".places [aria-current]", ".places :not([aria-current])"].map((part) => {
        const { height, padding, color, backgroundColor, font, borderRadius } = getComputedStyle(document.querySelector(part));
        return [part, height, padding, color, backgroundColor, font, borderRadius].join(" ");
      })`;
      for (const width of [1280, 390]) {
        await page.setViewportSize({ width, height: 800 });
        let first: unknown;
        for (const [path, name] of [
          ["/", "Chat"],
          ["/inspect", "Inspector"],
          ["/api", "API"],
        ] as const) {
          await page.goto(`${gateway.origin}${path}`);
          await page.locator(".places").waitFor();
          expect(await page.locator(".places a").allInnerTexts()).toEqual([
            "Chat",
            "Inspector",
            "API",
          ]);
          expect(await page.locator("[aria-current=page]").allInnerTexts()).toEqual([name]);
          expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
          await page.emulateMedia({ colorScheme: "light" });
          const own = await page.evaluate(look);
          first ??= own;
          expect([path, own]).toEqual([path, first]);
          await checkAxe(page, `${path} at ${width}`);
        }
      }
      await page.goto(`${gateway.origin}/inspect`);
      await page.getByRole("button", { name: "Colours: system" }).click();
      await page.getByRole("button", { name: "Colours: light" }).waitFor();
      await page.getByRole("link", { name: "Chat" }).click();
      await page.getByRole("button", { name: "Colours: light" }).waitFor();
      expect(problems).toEqual([]);
    });

    test("a cookie with something else is no colour", async () => {
      const { gateway } = await openChat(browser, scriptedEngine([]));
      const headers = { accept: "text/html", cookie: 'harmony-gateway-theme=dark"><script>' };
      const response = await fetch(gateway.origin, { headers });
      expect(await response.text()).not.toContain("data-theme");
    });

    test("the page opens as a chat, and a panel that was opened is open again after a reload", async () => {
      const { page, problems } = await openChat(browser, scriptedEngine([REASONED]));
      await page.getByText("What should gpt-oss do?").waitFor();
      expect(await page.locator(".pane").count()).toBe(0);
      const words = await page.locator("#app").innerText();
      for (const word of ["Completions", "Responses", "Messages", "JSON", "Base URL", "/v1"]) {
        expect([word, words.includes(word)]).toEqual([word, false]);
      }
      await page.locator(".starter").first().click();
      await page.locator(".answer.done strong").waitFor();
      expect(await page.locator(".answer").innerText()).not.toContain("Completions");
      await page.getByRole("button", { name: "Settings of this chat" }).click();
      await page.getByLabel("System prompt").waitFor();
      await page.reload();
      await page.getByLabel("System prompt").waitFor();
      await page.getByRole("button", { name: "Send again as Messages" }).waitFor();
      await page.getByRole("button", { name: "Close" }).click();
      await page.reload();
      await page.locator(".answer.done strong").waitFor();
      expect(await page.locator(".pane").count()).toBe(0);
      expect(problems).toEqual([]);
    });

    test.each([390, 1100, 1280, 1440])(
      "at %i pixels attaching is first and whole",
      async (width) => {
        const viewport = { width, height: 800 };
        const { page } = await openChat(browser, scriptedEngine([]), { viewport });
        const bar = `(() => {
        const box = (part) => document.querySelector(part).getBoundingClientRect();
        const [composer, attach] = [box(".composer"), box(".attach")];
        const lefts = [...document.querySelectorAll(".bar select, .bar button")].map((part) => part.getBoundingClientRect().left);
        return [attach.left >= composer.left, attach.right <= composer.right, attach.width > 20, Math.min(...lefts) >= attach.right,
          document.elementFromPoint(attach.left + 3, attach.top + attach.height / 2).closest(".attach") !== null,
          document.documentElement.scrollWidth <= innerWidth];
      })()`;
        await page.locator(".attach").waitFor();
        expect(await page.evaluate(bar)).toEqual([true, true, true, true, true, true]);
        await openPane(page, "Settings");
        if (width < 1100) await page.getByRole("button", { name: "Close" }).click();
        // The sheet covers it until it has slid away.
        await expect.poll(() => page.evaluate(bar)).toEqual([true, true, true, true, true, true]);
      },
    );

    test("names of fields in the gateway's sentences are code, and nothing else of them is", async () => {
      const { page, problems } = await openChat(browser, scriptedEngine([]));
      await page.route("**/v1/chat/completions", (route) =>
        route.fulfill({
          status: 400,
          contentType: "application/json",
          body: JSON.stringify({
            error: { message: "Leave out `<b>seed</b>` or <i>it</i> ` ends." },
          }),
        }),
      );
      await send(page, "Hi");
      await page.locator(".answer .problem code").waitFor();
      expect(await page.locator(".answer .problem code").allInnerTexts()).toEqual(["<b>seed</b>"]);
      expect(await page.locator(".answer .problem").innerText()).toContain("<i>it</i> ` ends.");
      expect(problems).toEqual([]);
    });

    test("the chat works where the browser keeps functions for HTTPS", async () => {
      const before = "delete Crypto.prototype.randomUUID; delete Navigator.prototype.locks;";
      const { page, problems } = await openChat(browser, scriptedEngine([REASONED]), { before });
      await send(page, "Six times seven?");
      await page.locator(".answer.done strong").waitFor();
      expect(problems).toEqual([]);
    });

    test("the list of keys is a modal dialog, and Escape gives the focus back", async () => {
      const { page } = await openChat(browser, scriptedEngine([]));
      await page.getByRole("button", { name: "Keyboard" }).click();
      await page.getByRole("dialog").waitFor();
      for (let presses = 0; presses < 4; presses++) {
        await page.keyboard.press("Tab");
        const where = "(document.activeElement.closest('dialog, body') ?? {}).tagName";
        expect(["DIALOG", "BODY"]).toContain(await page.evaluate(where));
      }
      await page.keyboard.press("Escape");
      await page.locator("#message:focus").waitFor();
      expect(await page.getByRole("dialog").count()).toBe(0);
    });

    test("Ctrl + K leads to the search, and covers nothing where the list is in view", async () => {
      const { page, problems } = await openChat(browser, scriptedEngine([REASONED]));
      await page.locator("#message:focus").waitFor();
      await page.keyboard.press("Control+k");
      await page.locator("#search:focus").waitFor();
      await send(page, "Six times seven?");
      await page.locator(".answer.done").waitFor();
      await page.locator(".chat").click();
      await page.setViewportSize({ width: 390, height: 800 });
      await page.keyboard.press("Control+k");
      await page.locator("#search:focus").waitFor();
      await page.getByRole("button", { name: "Close the list" }).waitFor();
      expect(problems).toEqual([]);
    });

    test("a long thought that is opened stays in view while the page is drawn", async () => {
      const steps = Array.from({ length: 200 }, (_, at) => `Step ${at}.`).join("\n");
      const thought = `<|channel|>analysis<|message|>${steps}<|end|><|start|>assistant`;
      const engine = scriptedEngine([`${thought}${toFinal("42.")}`]);
      const { page } = await openChat(browser, engine);
      await send(page, "Six times seven?");
      await page.locator(".answer.done .reasoning:not([open])").waitFor();
      await page.locator(".reasoning summary").click();
      await page.locator(".reasoning[open]").waitFor();
      // The page is drawn after each key.
      await page.locator("#message").fill("Thanks");
      await page.evaluate(
        "new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))",
      );
      const top = "document.querySelector('.reasoning summary').getBoundingClientRect().top";
      expect(await page.evaluate<number>(top)).toBeGreaterThan(0);
      await page.locator(".reasoning summary").click();
      await page.locator(".reasoning:not([open])").waitFor();
      await page.locator("#message").fill("Thanks!");
      await page.locator(".reasoning:not([open])").waitFor();
    });

    test("the focus stays in the conversation when its button has gone", async () => {
      const { page, problems } = await openChat(browser, scriptedEngine([REASONED, REASONED]));
      await send(page, "Six times seven?");
      await page.locator(".answer.done").waitFor();
      for (const [name, focused] of [
        ["Regenerate", ".scroll"],
        ["Previous version", ".scroll"],
        ["Edit", "#message"],
        ["Cancel", "#message"],
        ["Delete Six times seven?", "#message"],
        ["Undo", "#message"],
      ] as const) {
        const button = page.getByRole("button", { name });
        await button.focus();
        await button.press("Enter");
        await page.locator(`${focused}:focus`).waitFor();
        // The buttons between versions wait for the end of the answer.
        await page.getByRole("button", { name: "Send", exact: true }).waitFor();
      }
      await page.setViewportSize({ width: 390, height: 800 });
      await page.getByRole("button", { name: "Chats" }).click();
      await page.getByRole("button", { name: "Close the list" }).waitFor();
      await page.locator("#search").focus();
      await page.keyboard.press("Escape");
      await page.locator(".scroll:focus").waitFor();
      expect(problems).toEqual([]);
    });

    test("Escape, a click elsewhere and the choice of an item close the menu", async () => {
      const { page, problems } = await openChat(browser, scriptedEngine([REASONED]));
      await send(page, "Six times seven?");
      await page.locator(".answer.done").waitFor();
      const menu = page.locator("details.menu[open]");
      const open = async () => {
        await page.getByText("Export, import").click();
        await menu.waitFor();
      };
      await open();
      await page.keyboard.press("Escape");
      await menu.waitFor({ state: "hidden" });
      await open();
      await page.locator(".log").click();
      await menu.waitFor({ state: "hidden" });
      await open();
      const download = page.waitForEvent("download");
      await page.getByRole("button", { name: "Export as Markdown" }).click();
      await download;
      await menu.waitFor({ state: "hidden" });
      await page.locator(".menu summary:focus").waitFor();
      expect(problems).toEqual([]);
    });

    test("text from right to left begins at the right, and code does not", async () => {
      const text =
        "مرحبا بالعالم، هذا نص عربي.\n\nEnglish again.\n\n- עברית\n\n1. one\n\n```js\nlet a;\n```";
      const { page } = await openChat(browser, scriptedEngine([toFinal(text)]));
      await send(page, "مرحبا (1)");
      await page.locator(".answer.done .code").waitFor();
      const direction = (selector: string) =>
        page.evaluate<string>(`getComputedStyle(document.querySelector("${selector}")).direction`);
      const found = [".bubble", ".text", ".text ul", ".text ol", ".text .code"].map(direction);
      expect(await Promise.all(found)).toEqual(["rtl", "rtl", "rtl", "ltr", "ltr"]);
      // The left edge of a paragraph's text.
      const gap = `(() => {
        const paragraph = document.querySelectorAll(".text p")[1];
        const range = document.createRange();
        range.selectNodeContents(paragraph);
        return range.getBoundingClientRect().left - paragraph.getBoundingClientRect().left;
      })()`;
      expect(await page.evaluate<number>(gap)).toBeLessThan(2);
    });

    test("a wide table scrolls, and its words are whole", async () => {
      const words = ["Authentication", "Observability", "Configuration", "Recommended"];
      const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |\n`;
      const table = `${line(words)}${line(words.map(() => "---"))}${line(words)}`;
      const viewport = { width: 390, height: 700 };
      const { page } = await openChat(browser, scriptedEngine([toFinal(table)]), { viewport });
      await send(page, "Table.");
      await page.locator(".answer.done td").first().waitFor();
      const heights = await page.evaluate<number[]>(
        "Array.from(document.querySelectorAll('td'), (cell) => cell.clientHeight / parseFloat(getComputedStyle(cell).lineHeight))",
      );
      expect(heights.filter((lines) => lines > 2)).toEqual([]);
      const box =
        "(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)(document.querySelector('.table'))";
      expect(await page.evaluate(box)).toBe(true);
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
    });

    test("a chat that was deleted can be brought back", async () => {
      const { page } = await openChat(browser, scriptedEngine([REASONED]));
      await send(page, "Six times seven?");
      await page.locator(".answer.done strong").waitFor();
      await page.getByRole("button", { name: "Delete Six times seven?" }).click();
      await page.getByText("“Six times seven?” was deleted.").waitFor();
      expect(await page.locator(".chat").count()).toBe(0);
      await page.getByRole("button", { name: "Undo" }).click();
      await page.locator(".answer strong").waitFor();
      await page.reload();
      await page.getByRole("button", { name: "Six times seven?", exact: true }).waitFor();
    });

    test("the demo's page names what was found on this machine, with the command", async () => {
      const name = 'ollama with <b>"gpt-oss"</b>';
      const command = "harmony-gateway --url http://127.0.0.1:11434";
      const gateway = await serveGateway(testSettings({ port: 0 }), {
        foundEngines: () => [{ name, command }],
        log: testLog(),
      });
      onTestFinished(() => gateway.close());
      const { page, problems } = await openPage(browser, `${gateway.origin}/`);
      await page.getByText("This is the built-in demo.").waitFor();
      expect(await page.locator(".found dt").innerText()).toBe(name);
      expect(await page.locator(".found code").innerText()).toBe(command);
      await checkAxe(page, "demo");
      expect(problems).toEqual([]);
    });

    test("a server that is down is named in a banner, and a message gets the gateway's error", async () => {
      const settings = { engine: "vllm", url: "http://127.0.0.1:9", model: "openai/gpt-oss-20b" };
      const gateway = await startTestGateway({ settings });
      onTestFinished(() => gateway.close());
      const { page } = await openPage(browser, `${gateway.origin}/`);
      await page.getByText("The inference server does not answer yet (unreachable).").waitFor();
      await send(page, "Hi");
      await page.locator(".answer .problem").waitFor();
      expect(await page.locator(".answer .problem").innerText()).not.toBe("");
    });

    test("copying says so", async () => {
      const before =
        "Object.defineProperty(navigator, 'clipboard', { value: { writeText: (text) => { globalThis.copied = text; return Promise.resolve(); } } })";
      const engine = scriptedEngine([toFinal("```js\nlet a;\n```")]);
      const { page } = await openChat(browser, engine, { before });
      await send(page, "Hi");
      await page.locator(".answer.done pre").waitFor();
      await page.locator(".answer .copy").first().click();
      await page.locator(".answer .copy[data-copied] .icon-check").waitFor();
      expect(await page.evaluate("globalThis.copied")).toBe("let a;");
      const said = page.locator("main [role=status]");
      await expect.poll(() => said.innerText()).toBe("Copied.");
    });

    test("on a phone Escape and a tap beside it close the sheet", async () => {
      const viewport = { width: 390, height: 700 };
      const { page } = await openChat(browser, scriptedEngine([REASONED]), { viewport });
      const pane = page.locator(".pane");
      await page.getByRole("button", { name: "Code, settings and events" }).click();
      await pane.waitFor();
      await page.keyboard.press("Escape");
      await pane.waitFor({ state: "hidden" });
      await openPane(page, "Settings");
      await pane.waitFor();
      await page.locator(".below-pane").click({ position: { x: 195, y: 60 } });
      await pane.waitFor({ state: "hidden" });
      await send(page, "Six times seven?");
      await answered(page, "42");
      expect(await pane.count()).toBe(0);
    });

    test("a refused request is shown with its body among the events", async () => {
      const engine = scriptedEngine([{ refuse: new Error("the engine is on fire") }]);
      const { page } = await openChat(browser, engine);
      await send(page, "Hi");
      await page.locator(".answer .problem").waitFor();
      await openPane(page, "Events");
      expect(await page.locator(".events").innerText()).toContain('"error":{');
      expect(await page.locator(".code-of").innerText()).toMatch(/^5\d\d$/);
    });
  },
);
