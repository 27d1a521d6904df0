import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Script, scriptedEngine } from "../helpers/scripted-engine.ts";
import { type Browser, launchBrowser, MISSING } from "./driver.ts";
import {
  answered,
  askWeather,
  CALL,
  lastAnswer,
  openChat,
  PERSON,
  REASONED,
  send,
  THOUGHT,
  toFinal,
  chooseApi,
  openPane,
} from "./chat-page.ts";
import { checkAxe } from "./open.ts";

let browser: Browser;

beforeAll(async () => {
  if (MISSING === undefined) browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
});

const APIS = [
  ["chat", "/v1/chat/completions"],
  ["responses", "/v1/responses"],
  ["messages", "/v1/messages"],
] as const;

describe.skipIf(MISSING !== undefined)(
  `the chat in a browser (${MISSING === undefined ? "Chromium" : `skipped: ${MISSING}`})`,
  () => {
    test.each(APIS)(
      "%s: reasoning, a tool loop, a schema, stop and an error, with nothing from elsewhere",
      async (api, path) => {
        const scripts: Script[] = [
          REASONED,
          CALL,
          toFinal("Light rain."),
          CALL,
          toFinal("Rain again."),
          PERSON,
          { write: toFinal("Once upon").replace("<|return|>", ""), hang: true },
          { refuse: new Error("the engine is on fire") },
        ];
        const engine = scriptedEngine(scripts);
        const { page, gateway, problems, requested } = await openChat(browser, engine);
        await chooseApi(page, api);

        await send(page, "Six times seven?");
        await page.locator(".answer.done strong").waitFor();
        expect(await page.locator(".answer strong").innerText()).toBe("42");
        const reasoning = page.locator(".reasoning");
        expect(await reasoning.getAttribute("open")).toBeNull();
        await page.locator(".reasoning summary").click();
        await page.getByText("Six times seven.", { exact: true }).waitFor();

        await askWeather(page);
        await answered(page, "Light rain.");
        expect(engine.prompts.at(-1)).toContain("21 °C");
        expect(engine.prompts.at(-1)).toContain("The tool knows.");
        await send(page, "And now?");
        await answered(page, "Rain again.");

        await page.getByLabel("Response format").selectOption("schema");
        await send(page, "Invent a person.");
        await lastAnswer(page).locator('pre:has-text("Ada")').waitFor();
        expect(await lastAnswer(page).locator("pre").innerText()).toContain('"name": "Ada"');

        await page.getByLabel("Response format").selectOption("");
        await send(page, "Tell me a story.");
        await answered(page, "Once upon");
        await page.getByRole("button", { name: "Stop" }).click();
        await lastAnswer(page).getByText("stopped", { exact: true }).waitFor();
        expect(await lastAnswer(page).innerText()).toContain("Once upon");
        await expect.poll(() => engine.open).toBe(0);

        await send(page, "Fail.");
        await lastAnswer(page).locator(".problem").waitFor();
        await openPane(page, "Events");
        await page.getByText(`POST ${path}`).waitFor();

        expect(
          requested.every((url) => url.startsWith(gateway.origin) || url.startsWith("data:")),
        ).toBe(true);
        expect(requested.filter((url) => url === `${gateway.origin}${path}`)).toHaveLength(8);
        expect(problems).toEqual([]);
      },
    );

    test.each(["chat", "responses", "messages"])(
      "%s: the gateway's browser is a switch, and shows what it has read",
      async (api) => {
        const search =
          "<|channel|>analysis<|message|>I search.<|end|><|start|>assistant<|channel|>analysis to=browser.search code" +
          '<|message|>{"query":"citations"}<|call|>';
        const engine = scriptedEngine([search, toFinal("Found."), toFinal("Without.")]);
        const settings = { builtinTools: ["browser"] };
        const { page, problems } = await openChat(browser, engine, { settings });
        await chooseApi(page, api);
        await openPane(page, "Settings");
        await page.getByLabel("Browser: search and read pages").click();
        await page.getByRole("button", { name: "Settings of this chat 1" }).waitFor();
        await send(page, "Search for citations.");
        await answered(page, "Found.");
        const call = page.locator(".call");
        expect(await call.innerText()).toContain("run by the gateway");
        expect(await call.innerText()).toContain("citations");
        await call.locator("summary").click();
        expect(await call.locator(".value").innerText()).not.toBe("");
        await page.getByLabel("Browser: search and read pages").click();
        await send(page, "And now?");
        await answered(page, "Without.");
        expect(engine.prompts.at(-1)).not.toContain("namespace browser");
        expect(problems).toEqual([]);
      },
    );

    test("the same conversation goes through another API, and versions can be switched", async () => {
      const answers = ["one", "two", "three", "four"].map((text) => `${THOUGHT}${toFinal(text)}`);
      const engine = scriptedEngine(answers);
      const { page, requested } = await openChat(browser, engine);
      await send(page, "Say a number.");
      await answered(page, "one");
      await page.getByRole("button", { name: "Regenerate" }).click();
      await answered(page, "two");
      await openPane(page, "Code");
      await page.getByRole("button", { name: "Send again as Messages" }).click();
      await answered(page, "three");
      expect(requested.filter((url) => url.endsWith("/v1/messages"))).toHaveLength(1);
      await page.getByText("3/3").waitFor();
      await page.getByRole("button", { name: "Previous version" }).click();
      await answered(page, "two");
      await page.locator("#message").press("ArrowUp");
      // The button is drawn together with the text that is edited.
      await page.getByText("Editing an earlier message").waitFor();
      await page.locator("#message").fill("Say another.");
      await page.keyboard.press("Enter");
      await answered(page, "four");
      await page.getByText("2/2").waitFor();
      expect(engine.prompts.at(-1)).not.toContain("Say a number.");
    });

    test("a loop of calls with a fixed result stops after 20 requests, and can be continued", async () => {
      const engine = scriptedEngine([...Array.from({ length: 21 }, () => CALL), toFinal("Rain.")]);
      // Between two requests of the loop the page shows no form for a result.
      const before =
        "new MutationObserver(() => { globalThis.forms = Math.max(globalThis.forms ?? 0, document.querySelectorAll('.call').length * document.querySelectorAll('.result-form').length); }).observe(document, { childList: true, subtree: true })";
      const { page } = await openChat(browser, engine, { before });
      await askWeather(page);
      await page.getByText("The model has not read them yet.").waitFor();
      expect(engine.requests).toHaveLength(21);
      expect(await page.evaluate("globalThis.forms")).toBe(1);
      await page.getByRole("button", { name: "Continue" }).click();
      await answered(page, "Rain.");
      expect(engine.requests).toHaveLength(22);
    });

    test("the code is that of the request, and chats are there again after a reload", async () => {
      const engine = scriptedEngine([REASONED]);
      const { page } = await openChat(browser, engine);
      await openPane(page, "Settings");
      await page.getByLabel("System prompt").fill("Be brief.");
      await send(page, "Six times seven?");
      await page.locator(".answer.done").waitFor();
      await openPane(page, "Code");
      for (const client of ["curl", "Python", "TypeScript", "AI SDK", "LangChain", "Agents SDK"]) {
        await page.getByRole("button", { name: client, exact: true }).click();
        const code = await page.locator(".pane .code pre").innerText();
        expect([client, code]).toEqual([client, expect.stringContaining("Be brief.")]);
        expect(code).toContain("Six times seven?");
        expect(code).not.toContain("stream");
      }
      await page.reload();
      await page.getByRole("button", { name: "Six times seven?", exact: true }).click();
      await page.locator(".answer strong").waitFor();
      expect(await page.getByLabel("System prompt").count()).toBe(0);
      await openPane(page, "Settings");
      expect(await page.getByLabel("System prompt").inputValue()).toBe("Be brief.");
    });

    test("the keyboard alone is enough", async () => {
      const engine = scriptedEngine([
        REASONED,
        { write: toFinal("Once upon").replace("<|return|>", ""), hang: true },
      ]);
      const { page } = await openChat(browser, engine);
      await page.locator("#message:focus").waitFor();
      await page.keyboard.type("Six times");
      await page.keyboard.press("Shift+Enter");
      await page.keyboard.type("seven?");
      await page.keyboard.press("Enter");
      await page.locator(".answer.done").waitFor();
      expect(await page.locator(".bubble").innerText()).toBe("Six times\nseven?");
      await page.keyboard.type("More");
      await page.keyboard.press("Enter");
      await answered(page, "Once upon");
      await page.keyboard.press("Escape");
      await page.getByText("stopped", { exact: true }).waitFor();
      await page.keyboard.press("Control+Shift+O");
      await page.getByText("What should gpt-oss do?").waitFor();
      await page.keyboard.press("Control+k");
      await page.locator("#search:focus").waitFor();
      await page.keyboard.type("seven");
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await page.locator(".answer strong").waitFor();
    });

    test("axe reports no violations, in light and dark, on a desktop and a phone", async () => {
      const engine = scriptedEngine([
        `${THOUGHT}${toFinal("# H\n\n1. `a`\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n```js\nlet a = 1; // b\n```\n")}`,
        CALL,
      ]);
      const { page, problems } = await openChat(browser, engine, { settings: { inspect: true } });
      await page.getByText("What should gpt-oss do?").waitFor();
      await checkAxe(page, "empty");
      await send(page, "Hi");
      await page.locator(".answer.done table").waitFor();
      await openPane(page, "Settings");
      await page.getByRole("button", { name: "Sample: get_weather" }).click();
      await page.locator(".reasoning summary").click();
      await send(page, "Weather?");
      await page.getByPlaceholder("Result of get_weather").waitFor();
      await checkAxe(page, "settings");
      for (const name of ["Events", "Code"] as const) {
        await openPane(page, name);
        await checkAxe(page, name);
      }
      await page.setViewportSize({ width: 390, height: 800 });
      await checkAxe(page, "phone, code");
      await page.getByRole("button", { name: "Close" }).click();
      await checkAxe(page, "phone");
      await page.getByRole("button", { name: "Chats" }).click();
      await checkAxe(page, "phone, chats");
      expect(problems).toEqual([]);
    });

    test("on a phone nothing is wider than the screen, and Send stays visible", async () => {
      const viewport = { width: 390, height: 700 };
      const wide = toFinal(`\`\`\`\n${"wide ".repeat(60)}\n\`\`\`\n\n${"x".repeat(400)}`);
      const { page } = await openChat(browser, scriptedEngine([wide]), { viewport });
      await send(page, "y".repeat(300));
      await page.locator(".answer.done").waitFor();
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
      const right = "document.querySelector('.send').getBoundingClientRect().right";
      expect(await page.evaluate(right)).toBeLessThanOrEqual(390);
    });
  },
);
