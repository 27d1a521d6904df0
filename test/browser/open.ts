/** Opens pages for tests, and collects their errors, requests and dialogs. */
import { readFileSync } from "node:fs";
import { expect, onTestFinished } from "vitest";
import { AXE, type Browser, type Context, type Page, PATIENCE_MS } from "./driver.ts";

export interface Opened {
  readonly page: Page;
  /** Errors of scripts, and refusals by the content security policy or Trusted Types. */
  readonly problems: readonly string[];
  /** The addresses of all requests. */
  readonly requested: readonly string[];
  /** Dialogs that were opened. */
  readonly dialogs: () => number;
}

export interface OpenOptions {
  readonly viewport?: { readonly width: number; readonly height: number };
  /** JavaScript that runs before the page's own scripts. */
  readonly before?: string;
  /** The screen of a phone, which has no other pointer. */
  readonly isTouch?: boolean;
  /** Another page whose storage and options the new page shares. */
  readonly beside?: Page;
}

export async function openPage(
  browser: Browser,
  url: string,
  { before, beside, ...options }: OpenOptions = {},
): Promise<Opened> {
  const context = beside?.context() ?? (await openContext(browser, options));
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const problems: string[] = [];
  const requested: string[] = [];
  let dialogs = 0;
  page.on("console", (message) => {
    // A refused request to an API is in the page, in the gateway's words. A missing file of the page is not.
    const isRefusal =
      message.text().startsWith("Failed to load resource: the server responded") &&
      /^\/(?:v1|inspect\/api)\//.test(new URL(message.location().url).pathname);
    if (message.type() === "error" && !isRefusal) problems.push(message.text());
  });
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("request", (request) => requested.push(request.url()));
  page.on("dialog", (dialog) => {
    dialogs += 1;
    void dialog.dismiss();
  });
  if (before !== undefined) await page.addInitScript(before);
  await page.goto(url);
  return { page, problems, requested, dialogs: () => dialogs };
}

async function openContext(
  browser: Browser,
  { viewport = { width: 1440, height: 900 }, isTouch = false }: OpenOptions,
): Promise<Context> {
  const touch = { hasTouch: isTouch, isMobile: isTouch };
  const context = await browser.newContext({ viewport, reducedMotion: "reduce", ...touch });
  onTestFinished(() => context.close());
  return context;
}

/** Runs axe in the page, in both colour schemes. A violation is named with the elements. */
export async function checkAxe(page: Page, where: string): Promise<void> {
  if (!(await page.evaluate<boolean>('"axe" in globalThis'))) {
    await page.evaluate(readFileSync(AXE, "utf8"));
  }
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    // Dark colours concern only these rules.
    const rules =
      colorScheme === "light" ? "" : `runOnly: ["color-contrast", "link-in-text-block"],`;
    const violations = await page.evaluate<readonly string[]>(
      `axe.run({ ${rules} resultTypes: ["violations"] }).then(({ violations }) =>
        violations.flatMap(({ id, nodes }) => nodes.map((node) => id + ": " + node.html.slice(0, 200) + " " + (node.any[0]?.message ?? ""))))`,
    );
    expect({ where, colorScheme, violations }).toEqual({ where, colorScheme, violations: [] });
  }
}
