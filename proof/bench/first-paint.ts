/**
 * How soon the pages can be used, in a browser that has nothing of them yet: first paint, then the chat's text field, or the
 * newest turn in the inspector, after `turns` recorded turns. A file of text shows what the browser and other work on the
 * machine cost by themselves: all are loaded in turn. Needs the Chromium and the packages of test/browser. The package's
 * pages are measured with the built command: `node proof/bench/first-paint.ts [loads] [turns] [src/node.ts or dist/node.js]`
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { launchBrowser, MISSING } from "../../test/browser/driver.ts";
import { freePort } from "../../test/helpers/listen.ts";
import { percentile } from "./statistics.ts";

const LOADS = Number(process.argv[2] ?? 15);
const TURNS = Number(process.argv[3] ?? 50);
const KEY = "token-of-the-benchmark";
const ENTRY = process.argv[4] ?? fileURLToPath(new URL("../../src/node.ts", import.meta.url));

interface MeasuredPage {
  readonly name: string;
  readonly path: string;
  /** An element without which the page is of no use. */
  readonly needed: string;
  readonly usable: string;
}

const PAGES: readonly MeasuredPage[] = [
  { name: "text alone", path: "/style.css", needed: "pre", usable: "shown" },
  { name: "chat", path: "/", needed: "#message", usable: "one can type" },
  {
    name: "inspector",
    path: `/inspect#token=${KEY}`,
    needed: ".turn .call",
    usable: "the newest turn shown",
  },
];

/** Runs in the page before its own scripts. The element is shown when the frame that has it has been drawn. */
const toWatch = (needed: string) => `window.neededShown = new Promise((resolve) => {
  new MutationObserver((_, observer) => {
    if (document.querySelector("${needed}") === null) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
  }).observe(document, { subtree: true, childList: true });
});
window.firstPaint = new Promise((resolve) => {
  new PerformanceObserver((list) => {
    const [paint] = list.getEntriesByName("first-contentful-paint");
    if (paint !== undefined) resolve(paint.startTime);
  }).observe({ type: "paint", buffered: true });
});`;

interface Load {
  readonly firstPaint: number;
  readonly neededShown: number;
}

if (MISSING !== undefined) {
  console.error(`There is no browser to measure: ${MISSING}.`);
  process.exit(1);
}

const port = await freePort();
const origin = `http://127.0.0.1:${port}`;
const gateway = spawn(
  process.execPath,
  [ENTRY, "--inspect", "--inspect-key", KEY, "--port", String(port), "--log", "warn"],
  { stdio: "ignore" },
);
const browser = await launchBrowser();
try {
  await untilReady();
  for (let turn = 0; turn < TURNS; turn++) await ask();
  const loads = new Map(PAGES.map((page) => [page, [] as Load[]]));
  // The first load also starts parts of the browser.
  for (let load = -1; load < LOADS; load++) {
    for (const [page, measured] of loads) {
      const next = await measure(page);
      if (load >= 0) measured.push(next);
    }
  }
  for (const [{ name, usable }, measured] of loads) {
    const firstPaints = measured.map(({ firstPaint }) => firstPaint);
    print(`${name}, first paint`, firstPaints);
    const shown = measured.map(({ neededShown }) => neededShown);
    print(`${name}, ${usable}`, shown);
  }
} finally {
  await browser.close();
  gateway.kill();
  await once(gateway, "exit");
}

async function untilReady(): Promise<void> {
  for (;;) {
    const response = await fetch(`${origin}/ready`).catch(() => undefined);
    if (response?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function ask(): Promise<void> {
  const response = await fetch(`${origin}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      model: "openai/gpt-oss-20b",
      messages: [{ role: "user", content: "What is the capital of Norway?" }],
      stream: true,
    }),
  });
  await response.text();
}

/** Milliseconds since the address was opened, in a new context without caches. */
async function measure({ path, needed }: MeasuredPage): Promise<Load> {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  try {
    await page.addInitScript(toWatch(needed));
    await page.goto(origin + path);
    return await page.evaluate<Load>(`(async () => {
      const neededShown = await window.neededShown;
      const firstPaint = await window.firstPaint;
      // An element that is there soon enough is in the first frame.
      return { firstPaint, neededShown: Math.max(firstPaint, neededShown) };
    })()`);
  } finally {
    await page.close();
  }
}

function print(what: string, list: readonly number[]): void {
  const sorted = Float64Array.from(list).toSorted();
  const at = (share: number) => percentile(sorted, share).toFixed(0);
  console.log(`${what}: best ${at(0)} ms, median ${at(0.5)} ms, 90 % within ${at(0.9)} ms`);
}
