/** Takes the pictures in `docs/images`: `SCREENSHOTS=1 npx vitest run --project node test/browser`. */
import { sleep } from "../../src/streams/timers.ts";
import { mkdirSync } from "node:fs";
import { eventually } from "../helpers/eventually.ts";
import type { Browser, Page } from "./driver.ts";
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
  const scripts = [...TOOL_LOOP.scripts, ...RECOVERED.scripts, ...STEERED.scripts];
  const gateway = await startInspected(pacedEngine(scripts, () => sleep(MS_PER_TOKEN)));
  const page = await browser.newPage({
    viewport: { width: 1360, height: 860 },
    deviceScaleFactor: 1.25,
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

async function showTurn(page: Page, row: number, band: string): Promise<void> {
  await page.locator(".row").nth(row).click();
  await page.getByRole("heading", { name: "Model output" }).waitFor();
  await page.evaluate(`document.querySelector("${band}").closest(".band").scrollIntoView()`);
}

async function shoot(page: Page, name: string): Promise<void> {
  await page.evaluate("new Promise((done) => setTimeout(done, 300))");
  await page.screenshot({ path: new URL(`${name}.png`, FOLDER).pathname });
}
