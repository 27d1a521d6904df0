/**
 * Creates pages without scripts: text, links and one local style sheet. All pages are at the root, and links are
 * relative: a proxy may put the gateway below a path.
 */

import type { Context } from "hono";
import { SHARED_STYLE } from "./shared-style.ts";
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

export interface Look {
  /** Undefined: the system's theme. */
  readonly theme?: Theme | undefined;
  /** HTML above the main part. */
  readonly above?: string;
}

/** @param body HTML */
export function toPage(title: string, body: string, { theme, above = "" }: Look = {}): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="stylesheet" href=".${STYLE_PATH}">
<body${theme === undefined ? "" : ` data-theme="${theme}"`}>
${above}<main>
${body}
</main>
</html>
`;
}

export const STYLE = `${SHARED_STYLE}
main { max-width: 60rem; margin: 0 auto; padding: 0.5rem 1.25rem 5rem; font-size: 15px; line-height: 1.6; }
a { color: var(--accent); }
h1 { font-size: 1.9em; letter-spacing: -0.025em; line-height: 1.2; margin: 1.6rem 0 0.6rem; }
h2 { font-size: 1.25em; letter-spacing: -0.01em; margin: 3rem 0 0.5rem; }
h3 { font-size: 1em; font-weight: 600; margin: 0 0 0.2rem; overflow-wrap: anywhere; }
pre, code { font-family: ui-monospace, "SF Mono", "DejaVu Sans Mono", Menlo, monospace; font-size: 0.87em; }
pre { overflow-x: auto; margin: 0.5rem 0; padding: 0.8rem 0.95rem; border: 1px solid var(--line); border-radius: 10px; background: var(--panel); }
p { text-wrap: pretty; }
article { background: var(--panel); border: 1px solid var(--line); border-radius: 12px; padding: 1rem 1.2rem; margin: 0.8rem 0; }
article p { margin: 0.3rem 0; }
article pre { background: var(--bg); }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; padding: 0.4rem 1rem 0.4rem 0; vertical-align: top; border-top: 1px solid var(--line); }
th { color: var(--quiet); font-weight: 500; font-size: 0.87em; border: 0; }
.type { color: var(--quiet); font-size: 0.87em; max-width: 14rem; overflow-wrap: anywhere; }
summary { cursor: pointer; color: var(--quiet); padding: 0.15rem 0; }
summary:hover { color: var(--ink); }
.method { color: var(--accent); font-size: 0.8em; text-transform: uppercase; letter-spacing: 0.04em; }
.toc { display: flex; flex-wrap: wrap; gap: 0.3rem; }
@media (max-width: 640px) { .fields table, .fields tbody, .fields tr, .fields td { display: block; border: 0; padding: 0.1rem 0; } .fields tr { border-top: 1px solid var(--line); padding: 0.5rem 0; } .fields th { display: none; } }
`;
