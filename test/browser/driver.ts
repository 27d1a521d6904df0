/**
 * A real browser for the tests of the pages: the Chromium of the system, driven by playwright-core. Both may be
 * missing; the tests are then skipped by name.
 */
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The part of playwright-core that the tests use: it is not installed where types are checked. */
export interface Page {
  goto(url: string): Promise<unknown>;
  reload(): Promise<unknown>;
  goBack(): Promise<unknown>;
  addInitScript(script: string): Promise<unknown>;
  route(url: string, handle: (route: Route) => unknown): Promise<unknown>;
  context(): Context;
  url(): string;
  getByRole(role: string, options?: { name?: string | RegExp; exact?: boolean }): Locator;
  getByText(text: string | RegExp, options?: { exact?: boolean }): Locator;
  getByLabel(text: string | RegExp, options?: { exact?: boolean }): Locator;
  getByPlaceholder(text: string): Locator;
  locator(selector: string): Locator;
  keyboard: { press(key: string): Promise<void>; type(text: string): Promise<void> };
  evaluate<T>(expression: string): Promise<T>;
  emulateMedia(options: { colorScheme: "light" | "dark" }): Promise<void>;
  setViewportSize(size: { width: number; height: number }): Promise<void>;
  screenshot(options: { path: string; fullPage?: boolean }): Promise<unknown>;
  waitForEvent(event: "download"): Promise<{ saveAs(path: string): Promise<void> }>;
  on(event: "console", listener: (message: ConsoleMessage) => void): void;
  on(event: "pageerror", listener: (error: Error) => void): void;
  on(event: "request", listener: (request: { url(): string }) => void): void;
  on(event: "dialog", listener: (dialog: { dismiss(): Promise<void> }) => void): void;
  setDefaultTimeout(milliseconds: number): void;
  close(): Promise<void>;
}

export interface Context {
  newPage(): Promise<Page>;
  close(): Promise<void>;
}

interface Route {
  abort(): Promise<void>;
  /** Sends the request. */
  fetch(): Promise<{ text(): Promise<string> }>;
  fulfill(options: { status: number; contentType: string; body: string }): Promise<void>;
}

interface ConsoleMessage {
  type(): string;
  text(): string;
  location(): { url: string };
}

export interface Locator {
  getByText(text: string | RegExp, options?: { exact?: boolean }): Locator;
  locator(selector: string): Locator;
  last(): Locator;
  click(options?: { position: { x: number; y: number } }): Promise<void>;
  fill(text: string): Promise<void>;
  check(): Promise<void>;
  focus(): Promise<void>;
  selectOption(value: string | { index: number }): Promise<unknown>;
  hover(): Promise<void>;
  first(): Locator;
  nth(index: number): Locator;
  count(): Promise<number>;
  innerText(): Promise<string>;
  allInnerTexts(): Promise<string[]>;
  getAttribute(name: string): Promise<string | null>;
  waitFor(options?: { state?: "visible" | "hidden" | "attached" }): Promise<void>;
  scrollIntoViewIfNeeded(): Promise<void>;
  inputValue(): Promise<string>;
  press(key: string): Promise<void>;
  setInputFiles(file: { name: string; mimeType: string; buffer: Buffer }): Promise<void>;
}

export interface Browser {
  newPage(options: object): Promise<Page>;
  newContext(options: object): Promise<Context>;
  close(): Promise<void>;
}

/** The headless shell needs a third less CPU than Chromium: it has no windows with an address bar. */
const CHROMIUM = [
  process.env["CHROMIUM"] ?? "",
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
].find((path) => path !== "" && existsSync(path));

const MODULES = new URL("./node_modules/", import.meta.url);
const DRIVER = new URL("playwright-core/index.mjs", MODULES);
export const AXE = new URL("axe-core/axe.min.js", MODULES);

/** Why there is no browser; undefined: there is one. */
export const MISSING =
  CHROMIUM === undefined
    ? "no Chromium on this machine"
    : existsSync(DRIVER)
      ? undefined
      : "npm install --prefix test/browser has not been run";

/** For a machine that is busy with something else: the driver itself gives up after 30 seconds. */
export const PATIENCE_MS = 300_000;

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export async function launchBrowser(): Promise<Browser> {
  const { chromium } = await import(DRIVER.href);
  const home = mkdtempSync(join(tmpdir(), "inspector-browser-"));
  return chromium.launch({
    executablePath: CHROMIUM,
    args: FLAGS,
    timeout: PATIENCE_MS,
    env: { ...process.env, HOME: home },
  });
}
