/**
 * Pages without scripts: text, links and one style sheet of our own. All pages are at the root, and links are relative: a proxy
 * may put the gateway below a path.
 */

import type { Context } from "hono";

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

/** @param body HTML. */
export function toPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="stylesheet" href=".${STYLE_PATH}">
<main>
${body}
</main>
</html>
`;
}

export const STYLE = `\
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
pre, code { font-family: ui-monospace, monospace; font-size: 0.9em; }
pre { overflow-x: auto; padding: 0.75rem; border: 1px solid #8886; border-radius: 6px; }
table { border-collapse: collapse; }
td, th { text-align: left; padding: 0.2rem 1rem 0.2rem 0; vertical-align: top; }
details { border-top: 1px solid #8884; padding: 0.4rem 0; }
summary { cursor: pointer; }
.method { display: inline-block; width: 4.5rem; font-weight: 600; text-transform: uppercase; }
`;
