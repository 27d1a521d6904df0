import { hash as digest } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { parseOpenChatML } from "../../src/openchatml/index.ts";
import { o200kHarmony } from "../../src/tokenizer/index.ts";
import { pdfOf } from "../helpers/pdf.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";
import { pngOf } from "../helpers/png.ts";
import { startVisionServer } from "../helpers/vision-server.ts";
import { spelledIds } from "../helpers/spelled.ts";
import { type Browser, launchBrowser, MISSING } from "./driver.ts";
import { answered, openChat, REASONED, send, toFinal, chooseApi, openPane } from "./chat-page.ts";
import { checkAxe } from "./open.ts";

let browser: Browser;

beforeAll(async () => {
  if (MISSING === undefined) browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
});

function turns(count: number): object[] {
  return Array.from({ length: count }, (_, at) => ({
    role: at % 2 ? "assistant" : "user",
    content: "x",
  }));
}

describe.skipIf(MISSING !== undefined)(
  `what the chat takes in (${MISSING === undefined ? "Chromium" : `skipped: ${MISSING}`})`,
  () => {
    test("a 401 opens the field for a key, which stays in this tab", async () => {
      const key = "the-key-of-the-browser-test";
      const settings = { keys: [`alice:${digest("sha256", key)}`] };
      const { page } = await openChat(browser, scriptedEngine([REASONED]), { settings });
      await page.getByRole("dialog").getByText("This gateway needs a key").waitFor();
      await page.getByLabel("Key", { exact: true }).fill("wrong");
      await page.keyboard.press("Enter");
      // Until the refusal, the dialog may be closed and opened again, with another field.
      await page.getByText("The API key is not valid for this gateway.").waitFor();
      await page.getByLabel("Key", { exact: true }).fill(key);
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").waitFor({ state: "hidden" });
      await send(page, "Six times seven?");
      await page.locator(".answer.done strong").waitFor();
      expect(await page.evaluate("localStorage.length")).toBe(0);
      expect(page.url()).not.toContain(key);
      await openPane(page, "Code");
      const code = () => page.locator(".pane .code pre").innerText();
      expect(await code()).toContain("$HARMONY_GATEWAY_KEY");
      expect(await code()).not.toContain(key);
      await page.getByText("with my key").click();
      await expect.poll(code).toContain(key);
    });

    test("a key is changed and forgotten in the settings", async () => {
      const settings = {
        keys: [`alice:${digest("sha256", "first")}`, `bob:${digest("sha256", "second")}`],
      };
      const { page, problems } = await openChat(browser, scriptedEngine([]), { settings });
      const field = page.getByLabel("Key", { exact: true });
      await field.fill("first");
      await page.keyboard.press("Enter");
      await page.locator(".status .dot.good").waitFor();
      await openPane(page, "Settings");
      await page.getByRole("button", { name: "Change …" }).click();
      await page.getByRole("dialog").getByText("Another key").waitFor();
      await checkAxe(page, "key");
      await field.fill("second");
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").waitFor({ state: "hidden" });
      expect(await page.evaluate("sessionStorage.getItem('harmony-gateway-key')")).toBe("second");
      await page.getByRole("button", { name: "Forget" }).click();
      await page.getByRole("dialog").getByText("This gateway needs a key").waitFor();
      await page.getByRole("button", { name: "Not now" }).click();
      expect(
        await page.evaluate(
          "[...Object.keys(sessionStorage), ...Object.keys(localStorage)].filter((name) => name.endsWith('-key'))",
        ),
      ).toEqual([]);
      await page.getByRole("button", { name: "Enter the key" }).click();
      await field.waitFor();
      expect(problems).toEqual([]);
    });

    test("a key that is remembered takes the place of one in this tab", async () => {
      const settings = { keys: [`alice:${digest("sha256", "right")}`] };
      const { page } = await openChat(browser, scriptedEngine([]), { settings });
      await page.getByLabel("Key", { exact: true }).fill("wrong");
      await page.keyboard.press("Enter");
      await page.getByText("The API key is not valid for this gateway.").waitFor();
      expect(await page.evaluate("sessionStorage.length")).toBe(1);
      await page.getByLabel("Key", { exact: true }).fill("right");
      await page.getByText("remember on this device").click();
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").waitFor({ state: "hidden" });
      expect(await page.evaluate("[sessionStorage.length, localStorage.length]")).toEqual([0, 1]);
    });

    test("a key that no header can carry is named, and another one can be entered", async () => {
      const settings = { keys: [`alice:${digest("sha256", "right")}`] };
      const { page, problems } = await openChat(browser, scriptedEngine([REASONED]), { settings });
      const sentence = page.getByRole("dialog").getByText("The key has a character that cannot be");
      await page.getByLabel("Key", { exact: true }).fill("“right”");
      await page.keyboard.press("Enter");
      await sentence.waitFor();
      await page.reload();
      await sentence.waitFor();
      await page.getByRole("button", { name: "Not now" }).click();
      await page.locator(".status:has-text('needs a key')").waitFor();
      await send(page, "Six times seven?");
      await sentence.waitFor();
      await page.getByLabel("Key", { exact: true }).fill("right");
      await page.keyboard.press("Enter");
      await page.locator(".status .dot.good").waitFor();
      await page.getByRole("button", { name: "Regenerate" }).click();
      await page.locator(".answer.done strong").waitFor();
      expect(problems).toEqual([]);
    });

    test.each(["chat", "responses", "messages"])(
      "%s: an answer whose stream ends early has failed, and keeps what came",
      async (api) => {
        const engine = scriptedEngine([toFinal("Once upon a time.")]);
        const { page, problems } = await openChat(browser, engine);
        await page.route("**/v1/{chat/completions,responses,messages}", async (route) => {
          const events = (await (await route.fetch()).text()).split("\n\n");
          const last = events.findIndex((event) => event.includes(" upon"));
          const body = events.slice(0, last + 1).join("\n\n");
          await route.fulfill({ status: 200, contentType: "text/event-stream", body });
        });
        await chooseApi(page, api);
        await send(page, "Tell me a story.");
        await page
          .locator(".answer.failed")
          .getByText("The connection was closed before the answer was complete.")
          .waitFor();
        expect(await page.locator(".answer .text").innerText()).toBe("Once upon");
        expect(problems).toEqual([]);
      },
    );

    test("Enter begins a line on a touch screen, and the button sends", async () => {
      const engine = scriptedEngine([REASONED]);
      const viewport = { width: 390, height: 700 };
      const { page } = await openChat(browser, engine, { viewport, isTouch: true });
      await page.locator("#message").focus();
      await page.keyboard.type("Six times");
      await page.keyboard.press("Enter");
      await page.keyboard.type("seven?");
      expect(await page.locator("#message").inputValue()).toBe("Six times\nseven?");
      await page.getByRole("button", { name: "Send" }).click();
      await page.locator(".answer.done strong").waitFor();
      expect(await page.locator(".bubble").innerText()).toBe("Six times\nseven?");
    });

    test("the field is as high as its text, up to a third of the window", async () => {
      const viewport = { width: 390, height: 700 };
      const { page } = await openChat(browser, scriptedEngine([]), { viewport });
      const field = page.locator("#message");
      const hidden = () =>
        page.evaluate<number>(
          "(({ scrollHeight, clientHeight }) => scrollHeight - clientHeight)(document.querySelector('#message'))",
        );
      await field.fill("A message that has several lines on a phone. ".repeat(4));
      await expect.poll(hidden).toBeLessThanOrEqual(0);
      await field.fill("A message that has many lines on a phone. ".repeat(40));
      await expect.poll(hidden).toBeGreaterThan(0);
      const height = "document.querySelector('#message').clientHeight / innerHeight";
      expect(await page.evaluate<number>(height)).toBeLessThan(0.34);
    });

    test("a comma stands before decimals, and not between thousands", async () => {
      const { page } = await openChat(browser, scriptedEngine([]));
      await openPane(page, "Settings");
      await page.getByText("More", { exact: true }).click();
      for (const [label, typed, kept] of [
        ["Temperature", "0,5", "0.5"],
        ["Top p", "0.9", "0.9"],
        ["Max tokens", "1,000", ""],
      ] as const) {
        await page.getByLabel(label).fill(typed);
        await page.keyboard.press("Tab");
        await expect.poll(() => page.getByLabel(label).inputValue()).toBe(kept);
      }
    });

    test("hostile Markdown is inert, and shown", async () => {
      const hostile = readFileSync(new URL("hostile-answer.txt", import.meta.url), "utf8");
      // Text that is spelled like a control token becomes ordinary tokens.
      const written = [
        ...spelledIds("<|channel|>final<|message|>"),
        ...o200kHarmony().encode(hostile),
        ...spelledIds("<|return|>"),
      ];
      const engine = scriptedEngine([written]);
      const { page, gateway, problems, requested, dialogs } = await openChat(browser, engine);
      await send(page, hostile);
      await page.locator(".answer.done").waitFor();
      await answered(page, "The end.");
      const answer = page.locator(".answer");
      for (const selector of [
        "script",
        "img",
        "iframe",
        "style",
        "form",
        "object",
        "svg:not(.icon)",
        "video",
      ]) {
        expect([selector, await answer.locator(selector).count()]).toEqual([selector, 0]);
      }
      const links = await page.evaluate<readonly string[]>(
        "[...document.querySelectorAll('.answer .text a')].map(({ href, rel }) => rel + ' ' + href)",
      );
      expect(links).toEqual([
        "noopener noreferrer https://example.com/ok",
        "noopener noreferrer mailto:a@example.com",
        "noopener noreferrer https://evil.example/%22onclick=%22alert(1)",
      ]);
      const text = await answer.innerText();
      for (const part of ["<script>", "javascript:", "https://evil.example/beacon", "<|start|>"]) {
        expect(text).toContain(part);
      }
      expect(await page.evaluate("globalThis.hacked")).toBeUndefined();
      expect(requested.every((url) => url.startsWith(gateway.origin))).toBe(true);
      expect([dialogs(), problems]).toEqual([0, []]);
    });

    test("a task has one box, in lists with and without empty lines", async () => {
      const lists = "- [x] one\n- [ ] two\n\nThen:\n\n1. [x] three\n\n2. [ ] four";
      const { page, problems } = await openChat(browser, scriptedEngine([toFinal(lists)]));
      await send(page, "List.");
      await page.locator(".answer.done").waitFor();
      await answered(page, "four");
      const items = page.locator(".answer li");
      const texts = (await items.allInnerTexts()).map((text) => text.trim());
      expect(texts).toEqual(["one", "two", "three", "four"]);
      expect(await items.locator("input").count()).toBe(4);
      expect(problems).toEqual([]);
    });

    test.each([
      ["quotations", ">".repeat(5000)],
      ["lists", "- ".repeat(3000)],
    ])(
      "thousands of %s in one another are shown as written, and the chat goes on",
      async (_, open) => {
        const engine = scriptedEngine([toFinal(`${open}end`), REASONED]);
        const { page, problems } = await openChat(browser, engine);
        await send(page, "Nest.");
        await page.locator(".answer.done").waitFor();
        await answered(page, "end");
        await send(page, "Six times seven?");
        await page.locator(".answer.done strong").waitFor();
        expect(problems).toEqual([]);
      },
    );

    test.each([
      ["no JSON", "{", "it is not JSON"],
      ["broken percent signs", "%E0%A4%A", "it is not JSON"],
      ["no request", "[1]", "it is not a request"],
      ["no messages", '{"model":"m"}', "it has neither messages nor an input"],
      [
        "empty messages",
        '{"messages":[{"role":"system","content":{}},5,null]}',
        "it has no messages",
      ],
    ])("a link with %s opens nothing, and says so", async (_, given, reason) => {
      const { page, problems } = await openChat(browser, scriptedEngine([]), {
        hash: `#request=${given}`,
      });
      await page.getByText(`The link was not opened: ${reason}.`).waitFor();
      expect(problems).toEqual([]);
    });

    test("a link with a request fills the page and sends nothing", async () => {
      const body = {
        model: "<img src=x onerror=alert(1)>",
        messages: [
          { role: "system", content: "S" },
          { role: "user", content: "<script>alert(1)</script>" },
        ],
        tools: [{ type: "function", function: { name: "f" } }],
        temperature: 0.5,
      };
      const hash = `#request=${encodeURIComponent(JSON.stringify(body))}`;
      const { page, requested, dialogs, gateway } = await openChat(browser, scriptedEngine([]), {
        hash,
      });
      await page.getByText("Opened from a link. Nothing has been sent yet.").waitFor();
      expect(await page.locator("#message").inputValue()).toBe("<script>alert(1)</script>");
      expect(page.url()).toBe(`${gateway.origin}/`);
      await openPane(page, "Settings");
      await page.getByText("More", { exact: true }).click();
      expect(await page.getByLabel("Temperature").inputValue()).toBe("0.5");
      expect(requested.some((url) => url.includes("/chat/completions"))).toBe(false);
      expect(dialogs()).toBe(0);
    });

    test("a link that is opened during an answer leaves the answer running", async () => {
      const writing = { write: toFinal("Once upon").replace("<|return|>", ""), hang: true };
      const engine = scriptedEngine([writing]);
      const { page } = await openChat(browser, engine);
      await send(page, "Tell me a story.");
      await answered(page, "Once upon");
      const body = { messages: [{ role: "user", content: "Another." }] };
      const hash = `#request=${encodeURIComponent(JSON.stringify(body))}`;
      await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
      await page.getByText("Opened from a link. Nothing has been sent yet.").waitFor();
      expect(engine.open).toBe(1);
      await page.getByRole("button", { name: "Tell me a story.", exact: true }).click();
      await page.getByRole("button", { name: "Stop" }).click();
      await page.getByText("stopped", { exact: true }).waitFor();
      await expect.poll(() => engine.open).toBe(0);
    });

    test("a refusal is shown in the gateway's words, whatever they mention", async () => {
      const body = {
        messages: [{ role: "user", content: "Hi" }],
        tools: [{ type: "code_interpreter" }],
      };
      const hash = `#request=${encodeURIComponent(JSON.stringify(body))}`;
      const { page } = await openChat(browser, scriptedEngine([]), { hash });
      await page.getByText("Opened from a link. Nothing has been sent yet.").waitFor();
      await page.locator("#message").press("Enter");
      await page.locator(".answer .problem").waitFor();
      expect(await page.locator(".answer .problem").innerText()).toContain("code_interpreter");
    });

    test("a gateway that has gone is named in a sentence", async () => {
      const { page, gateway } = await openChat(browser, scriptedEngine([REASONED]));
      await send(page, "Six times seven?");
      await page.locator(".answer.done").waitFor();
      await gateway.close();
      await send(page, "Hi");
      await page.locator(".answer .problem").waitFor();
      expect(await page.locator(".answer .problem").innerText()).toBe(
        "The connection to the gateway broke. Is it still running?",
      );
    });

    test("a message stays in its field where the page cannot load the rest of its code", async () => {
      const { page } = await openChat(browser, scriptedEngine([]));
      await page.route("**/send.ts", (route) => route.abort());
      await page.reload();
      await send(page, "Hi");
      await page.getByText("The connection to the gateway broke. Is it still running?").waitFor();
      expect(await page.locator("#message").inputValue()).toBe("Hi");
      expect(await page.locator(".chats li").count()).toBe(0);
    });

    test("files: text is a chip until it is sent as a block, an image is refused with a sentence", async () => {
      const engine = scriptedEngine([REASONED]);
      const { page } = await openChat(browser, engine);
      const input = page.locator(".attach input");
      const image = { name: "photo.png", mimeType: "image/png", buffer: Buffer.from("PNG") };
      await input.setInputFiles(image);
      await page
        .getByText(
          "gpt-oss reads text only, and this gateway has no vision model. “photo.png” was not attached.",
        )
        .waitFor();
      const buffer = Buffer.from("print('```')\n");
      await input.setInputFiles({ name: "a.py", mimeType: "text/x-python", buffer });
      await page.getByRole("button", { name: "Remove a.py" }).waitFor();
      expect(await page.locator(".composer .files").innerText()).toContain("about 4 tokens");
      expect(await page.locator("#message").inputValue()).toBe("");
      await input.setInputFiles({
        ...image,
        name: "b.bin",
        mimeType: "",
        buffer: Buffer.from([255, 254, 0]),
      });
      await page.getByText("It is no text in UTF-8: “b.bin” was not attached.").waitFor();
      await send(page, "Read it.");
      await page.locator(".answer.done strong").waitFor();
      expect(engine.prompts.at(-1)).toContain("Read it.\n\na.py\n````py\nprint('```')\n````");
      expect(await page.locator(".question .files").innerText()).toContain("a.py");
      expect(await page.locator(".bubble").innerText()).toBe("Read it.");
    });

    test.each(["chat", "responses", "messages"])(
      "with a vision model pictures and PDFs go along, through %s",
      async (api) => {
        const png = Buffer.from(pngOf(64, 64, "x".repeat(1000)), "base64");
        const vision = await startVisionServer(() => "A red square.");
        const engine = scriptedEngine([toFinal("Red."), toFinal("Again.")]);
        const { settings } = vision;
        const { page, problems } = await openChat(browser, engine, { settings });
        await page.locator(".status .dot.good").waitFor();
        await chooseApi(page, api);
        const input = page.locator(".attach input");
        const big = Buffer.alloc(10_000_001);
        await input.setInputFiles({ name: "big.png", mimeType: "image/png", buffer: big });
        await page
          .getByText("A picture or a PDF has at most 10 MB. “big.png” was not attached.")
          .waitFor();
        await input.setInputFiles({ name: "photo.png", mimeType: "image/png", buffer: png });
        const buffer = pdfOf(["The sum is 42."]);
        await input.setInputFiles({ name: "sum.pdf", mimeType: "application/pdf", buffer });
        await page.getByRole("button", { name: "Remove sum.pdf" }).waitFor();
        await send(page, "What is this?");
        await answered(page, "Red.");
        expect(vision.images).toEqual([`data:image/png;base64,${png.toString("base64")}`]);
        expect(engine.prompts.at(-1)).toContain("A red square.");
        expect(engine.prompts.at(-1)).toContain("The sum is 42.");
        expect(await page.locator(".question .files").innerText()).toContain("photo.png");
        await openPane(page, "Code");
        expect(await page.locator(".pane .code pre").innerText()).toContain("…");
        await page.locator("#message").press("ArrowUp");
        await page.getByRole("button", { name: "Remove photo.png" }).click();
        await send(page, "And this?");
        await answered(page, "Again.");
        expect(engine.prompts.at(-1)).not.toContain("A red square.");
        expect(engine.prompts.at(-1)).toContain("The sum is 42.");
        expect(problems).toEqual([]);
      },
    );

    test("what is exported can be imported; a file that is no conversation is refused", async () => {
      const folder = await mkdtemp(join(tmpdir(), "chat-export-"));
      onTestFinished(() => rm(folder, { recursive: true }));
      const { page, problems } = await openChat(browser, scriptedEngine([REASONED]));
      await send(page, "Six times seven?");
      await page.locator(".answer.done").waitFor();
      for (const [name, file] of [
        ["Export as Markdown", "c.md"],
        ["Export as JSON", "c.json"],
      ] as const) {
        await page.locator(".menu summary").click();
        const download = page.waitForEvent("download");
        await page.getByRole("button", { name }).click();
        await (await download).saveAs(join(folder, file));
        await page.getByRole("button", { name: "New chat" }).click();
        await page.getByText("What should gpt-oss do?").waitFor();
        const buffer = readFileSync(join(folder, file));
        await page
          .locator(".file-button input")
          .setInputFiles({ name: file, mimeType: "", buffer });
        await page.locator(".answer strong").waitFor();
        expect(await page.locator(".reasoning").count()).toBe(1);
      }
      await openPane(page, "Settings");
      await page.getByText("More", { exact: true }).click();
      const download = page.waitForEvent("download");
      await page.getByRole("button", { name: "Export as OpenChatML" }).click();
      await (await download).saveAs(join(folder, "c.openchatml"));
      const { messages } = parseOpenChatML(readFileSync(join(folder, "c.openchatml"), "utf8"));
      expect(messages.map(({ channel, content }) => [channel, content])).toEqual([
        ["final", "Six times seven?"],
        ["analysis", "Six times seven."],
        ["final", "It is **42**."],
      ]);
      for (const [name, text, reason] of [
        ["x.json", "{", "it is not JSON"],
        ["x.md", "# Notes", "it has no part that begins with “## You”"],
        ["x.json", JSON.stringify({ messages: turns(2001) }), "it has more than 2000 messages"],
        ["x.json", " ".repeat(25_000_001), "it is larger than 25 MB"],
      ] as const) {
        const buffer = Buffer.from(text);
        await page.locator(".file-button input").setInputFiles({ name, mimeType: "", buffer });
        await page.getByText(`“${name}” was not imported: ${reason}.`).waitFor();
      }
      expect(problems).toEqual([]);
    });

    test.each([
      [
        "forbidden",
        "Object.defineProperty(globalThis, 'indexedDB', { get() { throw new DOMException('no', 'SecurityError') } })",
        "This browser does not let the page store anything: chats are lost when it is closed.",
      ],
      [
        "full",
        "IDBObjectStore.prototype.put = () => { throw new DOMException('full', 'QuotaExceededError') }",
        "The browser's storage is full: newer chats are lost when the page is closed. Delete some, or export this one.",
      ],
    ])("storage that is %s is named, and the chat goes on", async (_, before, sentence) => {
      const { page, problems } = await openChat(browser, scriptedEngine([REASONED]), { before });
      await send(page, "Six times seven?");
      await page.locator(".answer.done strong").waitFor();
      await page.getByText(sentence).waitFor();
      expect(problems).toEqual([]);
    });
  },
);
