/** Helpers of the chat's tests: a gateway whose model follows a script, and its page. */
import { onTestFinished } from "vitest";
import type { Engine } from "../../src/index.ts";
import { startTestGateway } from "../helpers/gateway.ts";
import type { Browser, Page } from "./driver.ts";
import { openPage, type OpenOptions } from "./open.ts";

export async function openChat(
  browser: Browser,
  engine: Engine,
  { settings = {}, hash = "", ...options }: OpenOptions & { settings?: object; hash?: string } = {},
) {
  const gateway = await startTestGateway({ engine, settings });
  onTestFinished(() => gateway.close());
  const opened = await openPage(browser, `${gateway.origin}/${hash}`, options);
  return { gateway, ...opened };
}

export const toFinal = (text: string) => `<|channel|>final<|message|>${text}<|return|>`;
export const THOUGHT = "<|channel|>analysis<|message|>Six times seven.<|end|><|start|>assistant";
export const REASONED = `${THOUGHT}${toFinal("It is **42**.")}`;
export const CALL =
  "<|channel|>analysis<|message|>The tool knows.<|end|><|start|>assistant" +
  '<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city":"Paris"}<|call|>';
export const PERSON = toFinal('{"name":"Ada","age":36,"city":"London"}');

export const send = async (page: Page, text: string) => {
  await page.locator("#message").fill(text);
  await page.keyboard.press("Enter");
};
/** Opens the right side, where it is closed, and shows one of its panes. */
export const openPane = async (page: Page, name: "Code" | "Settings" | "Events") => {
  if ((await page.locator(".pane").count()) === 0) {
    await page.getByRole("button", { name: "Code, settings and events" }).click();
  }
  await page.locator(".tabs").getByText(name, { exact: true }).click();
};
/** Chooses an API in the settings, and closes them. */
export const chooseApi = async (page: Page, api: string) => {
  await openPane(page, "Settings");
  await page.locator("#api").selectOption(api);
};
/** Waits for an answer with this text, as the log shows it. */
export const answered = (page: Page, text: string) =>
  page.locator(`.answer .text:has-text("${text}")`).last().waitFor();
export const lastAnswer = (page: Page) => page.locator(".answer").last();
/** Adds a sample tool, asks for it, and answers its calls with one result from now on. */
export const askWeather = async (page: Page) => {
  await openPane(page, "Settings");
  await page.getByRole("button", { name: "Sample: get_weather" }).click();
  await send(page, "Weather in Paris?");
  await page.getByPlaceholder("Result of get_weather").fill("21 °C");
  await page.getByText("always this").click();
  await page.getByRole("button", { name: "Answer", exact: true }).click();
};
