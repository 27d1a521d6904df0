/** What the chat keeps: messages, drafts and settings, over reloads, in two tabs, and when the reader leaves a chat. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { scriptedEngine } from "../helpers/scripted-engine.ts";
import { answered, CALL, openChat, REASONED, send, toFinal } from "./chat-page.ts";
import { type Browser, launchBrowser, MISSING, type Page } from "./driver.ts";
import { openPage } from "./open.ts";

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
      await page.getByRole("button", { name: "Tools" }).click();
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

    test("a question is there after a reload during its answer", async () => {
      const engine = scriptedEngine([REASONED, HANGING]);
      const { page } = await openChat(browser, engine);
      await send(page, "Six times seven?");
      await page.locator(".answer.done strong").waitFor();
      await send(page, "Tell me a story.");
      await answered(page, "Once upon");
      await expect
        .poll(() => stored(page))
        .toEqual(withParts("Six times seven?", "42", "Tell me a story."));
      await page.reload();
      await openNamed(page, "Six times seven?");
      await page.locator(".bubble:has-text('Tell me a story.')").waitFor();
    });

    test("a draft, an edit and the settings are there again when the reader comes back", async () => {
      const { page } = await openChat(browser, scriptedEngine([REASONED]));
      await send(page, "Six times seven?");
      await page.locator(".answer.done strong").waitFor();
      await page.locator("#message").fill("A long draft");
      await page.getByRole("button", { name: "System", exact: true }).click();
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
      await page.getByRole("button", { name: "Settings", exact: true }).click();
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
