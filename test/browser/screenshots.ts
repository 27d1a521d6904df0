/** Takes the pictures in `docs/images`: `SCREENSHOTS=1 npx vitest run test/browser`. */
import { sleep } from "../../src/streams/timers.ts";
import { mkdirSync } from "node:fs";
import { eventually } from "../helpers/eventually.ts";
import type { Browser, Page } from "./driver.ts";
import { send } from "./chat-page.ts";
import {
  pacedEngine,
  post,
  RECOVERED,
  startInspected,
  STEERED,
  TOKEN,
  TOOL_LOOP,
} from "./turns.ts";

const FOLDER = new URL("../../docs/images/", import.meta.url);
const MS_PER_TOKEN = 12;

export async function takeScreenshots(browser: Browser): Promise<void> {
  mkdirSync(FOLDER, { recursive: true });
  await takeChat(browser);
  const scripts = [...TOOL_LOOP.scripts, ...RECOVERED.scripts, ...STEERED.scripts];
  const gateway = await startInspected(pacedEngine(scripts, () => sleep(MS_PER_TOKEN)));
  const page = await browser.newPage({
    viewport: { width: 1360, height: 860 },
    reducedMotion: "reduce",
  });
  try {
    for (const { body } of [TOOL_LOOP, RECOVERED, STEERED]) {
      await post(gateway, { ...body, stream: true });
    }
    await page.goto(`${gateway.origin}/inspect#token=${TOKEN}`);
    await eventually(async () => {
      if ((await page.locator(".row").count()) < 3) throw new Error("not all turns are there");
    });
    await page.locator(".row").first().click();
    await page.getByRole("heading", { name: "Model output" }).waitFor();
    await shoot(page, "inspector");
    await showTurn(page, 1, "#band-came");
    await page.locator(".pin summary").first().click();
    await shoot(page, "inspector-recovered");
  } finally {
    await page.close();
    await gateway.close();
  }
}

const ANSWER =
  "<|channel|>analysis<|message|>They want the rule in short, with an example in Python.<|end|><|start|>assistant<|channel|>final<|message|>" +
  "A year is a leap year if it is divisible by **4**, except for centuries that are not divisible by **400**.\n\n" +
  "```python\ndef is_leap(year: int) -> bool:\n    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)\n```\n\n" +
  "| year | leap |\n| --- | --- |\n| 1900 | no |\n| 2000 | yes |\n| 2026 | no |<|return|>";

/** The chat, light, dark and on a phone. */
async function takeChat(browser: Browser): Promise<void> {
  const gateway = await startInspected(
    pacedEngine([ANSWER, ANSWER, ANSWER], () => sleep(MS_PER_TOKEN)),
  );
  for (const [name, colorScheme, width, height] of [
    ["chat", "light", 1360, 800],
    ["chat-dark", "dark", 1360, 800],
    ["chat-phone", "light", 390, 760],
  ] as const) {
    const page = await browser.newPage({ viewport: { width, height }, reducedMotion: "reduce" });
    try {
      await page.emulateMedia({ colorScheme });
      await page.goto(`${gateway.origin}/`);
      await send(page, "Which years are leap years?");
      await page.locator(".answer.done table").waitFor();
      await shoot(page, name);
    } finally {
      await page.close();
    }
  }
  await gateway.close();
}

async function showTurn(page: Page, row: number, band: string): Promise<void> {
  await page.locator(".row").nth(row).click();
  await page.getByRole("heading", { name: "Model output" }).waitFor();
  await page.evaluate(`document.querySelector("${band}").closest(".band").scrollIntoView()`);
}

async function shoot(page: Page, name: string): Promise<void> {
  await page.evaluate("new Promise((done) => setTimeout(done, 300))");
  await page.screenshot({ path: new URL(`${name}.png`, FOLDER).pathname });
}
