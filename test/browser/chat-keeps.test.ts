/** The chat keeps messages, drafts and settings over reloads, in two tabs, and when the reader leaves a chat. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { scriptedEngine } from "../helpers/scripted-engine.ts";
import {
  answered,
  CALL,
  openChat,
  REASONED,
  send,
  THOUGHT,
  toFinal,
  chooseApi,
  openPane,
} from "./chat-page.ts";
import { type Browser, launchBrowser, MISSING, type Page } from "./driver.ts";
import { checkAxe, openPage } from "./open.ts";
import { pacedEngine } from "./turns.ts";

let browser: Browser;

beforeAll(async () => {
  if (MISSING === undefined) browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
});

const HANGING = { write: toFinal("Once upon").replace("<|return|>", ""), hang: true };
const draft = (page: Page) => page.locator("#message").inputValue();
const openNamed = (page: Page, title: string) =>
  page.getByRole("button", { name: title, exact: true }).click();
/** All messages in the storage of the browser, as JSON. */
const stored = (page: Page) =>
  page.evaluate<readonly string[]>(`new Promise((resolve) => {
    indexedDB.open("harmony-gateway", 1).onsuccess = ({ target: { result: database } }) => {
      const request = database.transaction("conversations").objectStore("conversations").getAll();
      request.onsuccess = () => {
        database.close();
        resolve(request.result.flatMap(({ messages }) => messages.map((each) => JSON.stringify(each))));
      };
    };
  })`);
const withParts = (...parts: readonly string[]) =>
  parts.map((part): unknown => expect.stringContaining(part));

describe.skipIf(MISSING !== undefined)(
  `what the chat keeps (${MISSING === undefined ? "Chromium" : `skipped: ${MISSING}`})`,
  () => {
    test("a chat that two tabs write has the messages of both, as versions", async () => {
      const engine = scriptedEngine([toFinal("One."), toFinal("Two."), toFinal("Three.")]);
      const { page, gateway } = await openChat(browser, engine);
      await send(page, "Shared");
      await expect.poll(() => stored(page)).toEqual(withParts("Shared", "One."));
      const other = await openPage(browser, `${gateway.origin}/`, { beside: page });
      await openNamed(other.page, "Shared");
      await answered(other.page, "One.");
      await send(page, "From the first tab");
      const first = ["Shared", "One.", "From the first tab", "Two."];
      await expect.poll(() => stored(page)).toEqual(withParts(...first));
      await send(other.page, "From the second tab");
      await expect
        .poll(() => stored(page))
        .toEqual(withParts(...first, "From the second tab", "Three."));
      const third = await openPage(browser, `${gateway.origin}/`, { beside: page });
      await openNamed(third.page, "Shared");
      await answered(third.page, "Three.");
      await third.page.getByRole("button", { name: "Previous version" }).click();
      await answered(third.page, "Two.");
      expect(await third.page.locator(".bubble").allInnerTexts()).toEqual([
        "Shared",
        "From the first tab",
      ]);
    });

    test("an answer that another tab has continued stays so", async () => {
      const engine = scriptedEngine([CALL, toFinal("Light rain."), toFinal("Hello.")]);
      const { page, gateway } = await openChat(browser, engine);
      await openPane(page, "Settings");
      await page.getByRole("button", { name: "Sample: get_weather" }).click();
      await send(page, "Weather?");
      await page.getByPlaceholder("Result of get_weather").waitFor();
      await expect.poll(() => stored(page)).toEqual(withParts("Weather?", "get_weather"));
      const other = await openPage(browser, `${gateway.origin}/`, { beside: page });
      await openNamed(other.page, "Weather?");
      await other.page.getByPlaceholder("Result of get_weather").waitFor();
      await page.getByPlaceholder("Result of get_weather").fill("21 °C");
      await page.getByRole("button", { name: "Answer", exact: true }).click();
      await expect.poll(() => stored(page)).toEqual(withParts("Weather?", "Light rain."));
      await other.page.locator(".question .actions button[aria-label=Edit]").click();
      await send(other.page, "Hello?");
      await expect
        .poll(() => stored(page))
        .toEqual(withParts("Weather?", "Light rain.", "Hello?", "Hello."));
    });

    test("a question and its answer so far are there after a reload", async () => {
      const engine = scriptedEngine([REASONED, HANGING]);
      const { page } = await openChat(browser, engine);
      await send(page, "Six times seven?");
      await page.locator(".answer.done strong").waitFor();
      await send(page, "Tell me a story.");
      await answered(page, "Once upon");
      await expect
        .poll(() => stored(page))
        .toEqual(withParts("Six times seven?", "42", "Tell me a story.", "Once upon"));
      await page.reload();
      await openNamed(page, "Six times seven?");
      await page.locator(".bubble:has-text('Tell me a story.')").waitFor();
    });

    test("two chats are written at once, and the one that was left goes on", async () => {
      let release = () => {};
      const gate = new Promise<void>((resolve) => {
        release = resolve;
      });
      let tokens = 0;
      // Both engines wait before their sixth token.
      const engine = pacedEngine(
        [toFinal("The first of two."), toFinal("The second of two.")],
        () => (++tokens > 5 ? gate : Promise.resolve()),
      );
      const { page, problems } = await openChat(browser, engine);
      await send(page, "One?");
      await answered(page, "The first");
      await page.getByRole("button", { name: "New chat" }).click();
      tokens = 0;
      await send(page, "Two?");
      await answered(page, "The second");
      await expect.poll(() => page.locator(".chats .dot.busy").count()).toBe(2);
      await openNamed(page, "One?");
      await answered(page, "The first");
      await page.getByRole("button", { name: "Stop" }).waitFor();
      release();
      await page.locator(".answer.done").waitFor();
      expect(await page.locator(".answer .text").innerText()).toBe("The first of two.");
      await openNamed(page, "Two?");
      // The page still shows the other chat's answer, which is complete, for a moment.
      await answered(page, "The second of two.");
      await page.locator(".answer.done").waitFor();
      expect(await page.locator(".chats .dot.busy").count()).toBe(0);
      expect(problems).toEqual([]);
    });

    test("an answer that a reload has cut is there, says so, and goes on where it ended", async () => {
      const engine = scriptedEngine([HANGING, " a time.<|return|>"]);
      const { page, problems } = await openChat(browser, engine);
      await send(page, "Tell me a story.");
      await answered(page, "Once upon");
      await expect.poll(() => stored(page)).toEqual(withParts("Tell me", "Once upon"));
      await page.reload();
      await page.locator(".answer.cut").waitFor();
      expect(await page.locator(".answer .text").innerText()).toBe("Once upon");
      await page.getByText("The page was closed before the answer was complete.").waitFor();
      await expect.poll(() => stored(page)).toEqual(withParts("Tell me", '"status":"cut"'));
      await checkAxe(page, "cut");
      await page.getByRole("button", { name: "Continue" }).click();
      await page.locator(".answer.done").waitFor();
      expect(await page.locator(".answer .text").innerText()).toBe("Once upon a time.");
      expect(problems).toEqual([]);
    });

    test.each(["chat", "responses", "messages"])(
      "%s: an answer that was stopped goes on where it ended",
      async (api) => {
        const engine = scriptedEngine([
          { write: `${THOUGHT}${HANGING.write}`, hang: true },
          " a time.<|return|>",
        ]);
        const { page, requested, problems } = await openChat(browser, engine);
        await chooseApi(page, api);
        await send(page, "Tell me a story.");
        await answered(page, "Once upon");
        await page.getByRole("button", { name: "Stop" }).click();
        await page.getByRole("button", { name: "Continue" }).click();
        await page.locator(".answer.done").waitFor();
        expect(await page.locator(".answer > .text").allInnerTexts()).toEqual([
          "Once upon a time.",
        ]);
        expect(await page.locator(".answer .reasoning").count()).toBe(1);
        expect(engine.prompts.at(-1)).toMatch(/final<\|message\|>Once upon$/);
        expect(engine.prompts.at(-1)).toContain("Six times seven.");
        // Responses cannot continue a text.
        const continuing = api === "messages" ? "/v1/messages" : "/v1/chat/completions";
        expect(requested.findLast((url) => url.includes("/v1/"))).toContain(continuing);
        expect(problems).toEqual([]);
      },
    );

    test("an answer that another tab writes is not cut, and its end arrives", async () => {
      let release = () => {};
      const gate = new Promise<void>((resolve) => {
        release = resolve;
      });
      let tokens = 0;
      const engine = pacedEngine([toFinal("Once upon a time.")], () =>
        ++tokens > 5 ? gate : Promise.resolve(),
      );
      const { page, gateway } = await openChat(browser, engine);
      await send(page, "Tell me a story.");
      await answered(page, "Once upon");
      await expect.poll(() => stored(page)).toEqual(withParts("Tell me", "Once upon"));
      const other = await openPage(browser, `${gateway.origin}/`, { beside: page });
      await openNamed(other.page, "Tell me a story.");
      await other.page.locator(".answer.running .text").waitFor();
      release();
      await other.page.locator(".answer.done").waitFor();
      expect(await other.page.locator(".answer .text").innerText()).toBe("Once upon a time.");
      // A tab in the background is drawn when the browser gets to it.
      await expect.poll(() => page.locator(".answer .text").innerText()).toBe("Once upon a time.");
    });

    test("each chat has an address and a title, which reload, Back and a deletion follow", async () => {
      const engine = scriptedEngine([toFinal("One."), toFinal("Two.")]);
      const { page, gateway, problems } = await openChat(browser, engine);
      const title = () => page.evaluate<string>("document.title");
      expect(await title()).toBe("harmony-gateway");
      await send(page, "First?");
      await answered(page, "One.");
      await expect.poll(title).toBe("First? · harmony-gateway");
      const first = page.url();
      expect(first).toMatch(/\/#chat=[\w-]+$/);
      await page.reload();
      await answered(page, "One.");
      await page.getByRole("button", { name: "New chat" }).click();
      await page.getByText("What should gpt-oss do?").waitFor();
      await expect.poll(() => page.url()).toBe(`${gateway.origin}/`);
      await send(page, "Second?");
      await answered(page, "Two.");
      await page.goBack();
      await page.getByText("What should gpt-oss do?").waitFor();
      await page.goBack();
      await answered(page, "One.");
      expect(page.url()).toBe(first);
      await page.getByRole("button", { name: "Delete First?" }).click();
      await expect.poll(() => page.url()).toBe(`${gateway.origin}/`);
      await page.goto(first);
      await page.getByText("The chat of this address is not on this device.").waitFor();
      expect(page.url()).toBe(`${gateway.origin}/`);
      expect(problems).toEqual([]);
    });

    test("a chat is renamed and pinned, and a tab that knew the old title keeps the new one", async () => {
      const engine = scriptedEngine([toFinal("One."), toFinal("Two."), toFinal("Three.")]);
      const { page, gateway, problems } = await openChat(browser, engine);
      const titles = (shown: Page) => shown.locator(".chats .chat").allInnerTexts();
      await send(page, "First?");
      await page.locator(".answer.done").waitFor();
      await page.getByRole("button", { name: "New chat" }).click();
      await send(page, "Second?");
      await answered(page, "Two.");
      await page.locator(".answer.done").waitFor();
      const other = await openPage(browser, `${gateway.origin}/`, { beside: page });
      await openNamed(other.page, "First?");
      await answered(other.page, "One.");

      await page.getByRole("button", { name: "Rename First?" }).click();
      await page.locator("#title:focus").waitFor();
      await page.keyboard.press("Escape");
      await page.locator("#title").waitFor({ state: "hidden" });
      expect(await titles(page)).toEqual(["Second?", "First?"]);
      await page.getByRole("button", { name: "Rename First?" }).click();
      await page.locator("#title:focus").waitFor();
      await page.locator("#title").fill("<b>My</b> notes");
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "Pin <b>My</b> notes" }).click();
      await expect.poll(() => titles(page)).toEqual(["<b>My</b> notes", "Second?"]);
      expect(await page.locator(".chats h2").allInnerTexts()).toEqual(["Pinned", "Today"]);
      await checkAxe(page, "pinned");

      await send(other.page, "More?");
      await answered(other.page, "Three.");
      await other.page.locator(".answer.done").last().waitFor();
      await page.reload();
      await expect.poll(() => titles(page)).toEqual(["<b>My</b> notes", "Second?"]);
      expect(problems).toEqual([]);
    });

    test("new chats begin with the chosen system prompt, effort and tools, until they are forgotten", async () => {
      const { page, problems } = await openChat(browser, scriptedEngine([]));
      const system = page.getByLabel("System prompt");
      await openPane(page, "Settings");
      await system.fill("Be brief.");
      await page.getByRole("button", { name: "Sample: get_weather" }).click();
      await page.getByLabel("Reasoning effort").selectOption("high");
      await page.getByRole("button", { name: "Begin with these" }).click();
      await page.getByText("New chats begin with this system prompt, effort and tools.").waitFor();
      await page.reload();
      await openPane(page, "Settings");
      await system.waitFor();
      expect([
        await system.inputValue(),
        await page.getByLabel("Functions, as JSON").inputValue(),
        await page.getByLabel("Reasoning effort").inputValue(),
      ]).toEqual(["Be brief.", expect.stringContaining("get_weather"), "high"]);
      await page.getByRole("button", { name: "Begin empty" }).click();
      await page.getByRole("button", { name: "New chat" }).click();
      await expect.poll(() => system.inputValue()).toBe("");
      expect(problems).toEqual([]);
    });

    test("a draft, an edit and the settings are there again when the reader comes back", async () => {
      const { page } = await openChat(browser, scriptedEngine([REASONED]));
      await send(page, "Six times seven?");
      await page.locator(".answer.done strong").waitFor();
      await page.locator("#message").fill("A long draft");
      await openPane(page, "Settings");
      await page.getByLabel("System prompt").fill("Be brief.");
      await page.getByRole("button", { name: "New chat" }).click();
      await page.getByText("What should gpt-oss do?").waitFor();
      expect([await draft(page), await page.getByLabel("System prompt").inputValue()]).toEqual([
        "",
        "",
      ]);
      await page.locator("#message").fill("Not sent yet");
      await openNamed(page, "Six times seven?");
      await expect.poll(() => draft(page)).toBe("A long draft");
      expect(await page.getByLabel("System prompt").inputValue()).toBe("Be brief.");

      await page.locator(".question .actions button[aria-label=Edit]").click();
      await expect.poll(() => draft(page)).toBe("Six times seven?");
      await page.locator("#message").fill("Six times eight?");
      await page.getByRole("button", { name: "New chat" }).click();
      await expect.poll(() => draft(page)).toBe("Not sent yet");
      await openNamed(page, "Six times seven?");
      await expect.poll(() => draft(page)).toBe("Six times eight?");
      await page.keyboard.press("Escape");
      await expect.poll(() => draft(page)).toBe("A long draft");

      await page.reload();
      await openNamed(page, "Six times seven?");
      await openPane(page, "Settings");
      expect(await page.getByLabel("System prompt").inputValue()).toBe("Be brief.");
    });

    test("an edit that is sent gives the earlier draft back", async () => {
      const { page } = await openChat(browser, scriptedEngine([REASONED, toFinal("Edited.")]));
      await send(page, "Six times seven?");
      await page.locator(".answer.done strong").waitFor();
      await page.locator("#message").fill("A long draft");
      await page.locator(".question .actions button[aria-label=Edit]").click();
      await page.getByText("Editing an earlier message").waitFor();
      await send(page, "Six times eight?");
      await answered(page, "Edited.");
      expect(await draft(page)).toBe("A long draft");
    });
  },
);
