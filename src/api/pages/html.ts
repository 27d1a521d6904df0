/**
 * Pages without scripts: text, links and one style sheet of our own. All pages are at the root, and links are relative: a proxy
 * may put the gateway below a path.
 */

import type { Context } from "hono";
import type { Theme } from "./theme.ts";

export const STYLE_PATH = "/style.css";

/** Only the style sheet is loaded, no scripts run, and no other page may frame it. */
export const PAGE_HEADERS = {
  "content-security-policy":
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
};

/** Programs that request `/` get a 404 that names the APIs' paths. */
export function isForBrowser({ req }: Context): boolean {
  return /\btext\/html\b/.test(req.header("accept") ?? "");
}

/** Escapes text for HTML. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/**
 * @param body HTML
 * @param theme undefined: that of the system
 */
export function toPage(title: string, body: string, theme?: Theme): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="stylesheet" href=".${STYLE_PATH}">
<body${theme === undefined ? "" : ` data-theme="${theme}"`}>
<main>
${body}
</main>
</html>
`;
}

export const STYLE = `\
:root { color-scheme: light dark; --bg: light-dark(#f7f7f5, #15161a); --panel: light-dark(#fff, #1d1f24); --ink: light-dark(#1c1d21, #e8e8ea);
  --quiet: light-dark(#5b5e68, #a3a7b2); --line: light-dark(#dcdde1, #34373f); --accent: light-dark(#2f54c8, #8fa8ff);
  font: 15px/1.6 system-ui, -apple-system, "Segoe UI", sans-serif; }
:root:has(> [data-theme="light"]) { color-scheme: light; }
:root:has(> [data-theme="dark"]) { color-scheme: dark; }
body { margin: 0; background: var(--bg); color: var(--ink); }
main { max-width: 54rem; margin: 0 auto; padding: 1.5rem 1.25rem 5rem; }
a { color: var(--accent); }
h1 { font-size: 1.9rem; letter-spacing: -0.025em; line-height: 1.2; margin: 1.6rem 0 0.6rem; }
h2 { font-size: 1.25rem; letter-spacing: -0.01em; margin: 3rem 0 0.5rem; }
h3 { font-size: 1rem; font-weight: 600; margin: 0 0 0.2rem; overflow-wrap: anywhere; }
pre, code { font-family: ui-monospace, "SF Mono", "DejaVu Sans Mono", Menlo, monospace; font-size: 0.87em; }
pre { overflow-x: auto; margin: 0.5rem 0; padding: 0.8rem 0.95rem; border: 1px solid var(--line); border-radius: 10px; background: var(--panel); }
article { background: var(--panel); border: 1px solid var(--line); border-radius: 12px; padding: 1rem 1.2rem; margin: 0.8rem 0; }
article p { margin: 0.3rem 0; }
article pre { background: var(--bg); }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; padding: 0.4rem 1rem 0.4rem 0; vertical-align: top; border-top: 1px solid var(--line); }
th { color: var(--quiet); font-weight: 500; font-size: 0.87rem; border: 0; }
.type { color: var(--quiet); font-size: 0.87rem; max-width: 14rem; overflow-wrap: anywhere; }
summary { cursor: pointer; color: var(--quiet); padding: 0.15rem 0; }
summary:hover { color: var(--ink); }
.method { color: var(--accent); font-size: 0.8rem; text-transform: uppercase; letter-spacing: 0.04em; }
.quiet { color: var(--quiet); }
.places, .toc { display: flex; flex-wrap: wrap; gap: 0.3rem 1.1rem; }
.places a { text-decoration: none; }
.places a[aria-current] { color: var(--ink); font-weight: 600; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
@media (max-width: 640px) { .fields table, .fields tbody, .fields tr, .fields td { display: block; border: 0; padding: 0.1rem 0; } .fields tr { border-top: 1px solid var(--line); padding: 0.5rem 0; } .fields th { display: none; } }
`;
