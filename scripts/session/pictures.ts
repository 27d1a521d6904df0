/** The pictures of `docs/evidence/first-hour.md`: the browser's content while the gateway of a recording serves. */
import { statSync } from "node:fs";
import { join } from "node:path";
import { launchBrowser, MISSING, type Page } from "../../test/browser/driver.ts";

export interface Picture {
  /** Name of the file in `docs/images`, without its extension. */
  readonly name: string;
  /** Text before the picture: the actions since the previous one. */
  readonly text: string;
  readonly alt: string;
  /** Performs these actions. */
  readonly go: (page: Page, addresses: Addresses) => Promise<unknown>;
}

/** The addresses printed by the gateway. */
export interface Addresses {
  readonly home: string;
  readonly inspector: string;
}

const VIEWPORT = { width: 1280, height: 600 };
const MAX_BYTES = 150_000;

export const FIRST_HOUR: readonly Picture[] = [
  {
    name: "first-hour-chat",
    text: "In a browser, `http://127.0.0.1:8787/` is a chat. After _A question_:",
    alt: "The chat: a question, and its answer with the reasoning folded",
    async go(page, { home }) {
      await page.goto(home);
      await page.evaluate(`document.body.dataset.origin = "http://127.0.0.1:8787"`);
      await page.getByText("A question").click();
      await page.locator(".answer.done").waitFor();
    },
  },
  {
    name: "first-hour-tool",
    text: "_New chat_, and the sample tool in the settings: the page asks for the tool's result, and sends it. The code beside it, here after _TypeScript_, has the tool, too.",
    alt: "A tool call with its arguments, the result that was typed, and the answer; the code for TypeScript",
    async go(page) {
      await page.getByRole("button", { name: "New chat" }).click();
      await page.getByRole("button", { name: "Settings of this chat" }).click();
      await page.getByRole("button", { name: "Sample: get_weather" }).click();
      await page.locator("#message").fill("What is the weather in Paris?");
      await page.locator("#message").press("Enter");
      await page.getByPlaceholder("Result of get_weather").fill("21 °C, light rain");
      await page.getByRole("button", { name: "Answer", exact: true }).click();
      await page.locator('.answer.done:has-text("This is what the tool said")').waitFor();
      await page.getByRole("button", { name: "Code", exact: true }).click();
      await page.getByText("TypeScript", { exact: true }).click();
    },
  },
  {
    name: "first-hour-inspector",
    text: "The inspector, at the address that the start printed, shows the turn as the model saw it:",
    alt: "The inspector: the list of turns, and the newest one's prompt, message by message, beside its response",
    async go(page, { inspector }) {
      // It has more text, and the picture is to stay small.
      await page.setViewportSize({ ...VIEWPORT, height: 490 });
      await page.goto(inspector);
      await page.getByRole("heading", { name: "Model output" }).waitFor();
    },
  },
  {
    name: "first-hour-open-in-chat",
    text: "_Open in chat_ puts its request into the chat, to change it, send it again and copy it as code:",
    alt: "The chat with the request of that turn: the question, the call and its result, ready to be sent again",
    async go(page) {
      await page.setViewportSize(VIEWPORT);
      await page.getByText("Open in chat").click();
      await page.locator("#message").waitFor();
      await page.evaluate(`document.body.dataset.origin = "http://127.0.0.1:8787"`);
      await page.getByText("Python", { exact: true }).click();
    },
  },
];

/** @param folder where their files are written. */
export async function takePictures(
  pictures: readonly Picture[],
  addresses: Addresses,
  folder: string,
): Promise<void> {
  if (MISSING !== undefined) throw new Error(`There is no browser for the pictures: ${MISSING}.`);
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage({ viewport: VIEWPORT, reducedMotion: "reduce" });
    for (const { name, go } of pictures) {
      await go(page, addresses);
      // Until what follows a click has been drawn.
      await page.evaluate("new Promise((done) => setTimeout(done, 500))");
      const path = join(folder, `${name}.png`);
      await page.screenshot({ path });
      if (statSync(path).size > MAX_BYTES) throw new Error(`${path} is larger than ${MAX_BYTES}.`);
    }
  } finally {
    await browser.close();
  }
}
