/**
 * The HTML of a page. Its frame is in it, so that the first paint waits for the style sheet alone; the script replaces the
 * frame by the same with its contents. All modules are named, or the browser would find each only in the one that imports it.
 */
import { escapeHtml } from "../api/pages/html.ts";
import type { PageDescription } from "./assets.ts";

export interface PageFiles {
  /** `app/VERSION/`, relative because a proxy may put the gateway below a path. */
  readonly base: string;
  readonly style: string;
  readonly icon: string;
  readonly entry: string;
  /** Asks for the first data. It imports little, and runs before the others are there. */
  readonly early?: string | undefined;
  /** Every other module that these import, directly or not. */
  readonly modules: readonly string[];
}

/** @param facts attributes of the body, without `data-`. */
export function toPageHtml(
  { title, frame }: PageDescription,
  { base, style, icon, early, entry, modules }: PageFiles,
  facts: Readonly<Record<string, string>> = {},
): string {
  // Lower than what the first of them asks for, which would wait for a connection until all others are there.
  const preloads = modules.map(
    (name) => `<link rel="modulepreload" fetchpriority="low" href="${base}${name}">`,
  );
  const first =
    early === undefined
      ? ""
      : `<script type="module" async fetchpriority="high" src="${base}${early}"></script>\n`;
  const attributes = Object.entries(facts).map(
    ([name, value]) => ` data-${name}="${escapeHtml(value)}"`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="${base}${icon}">
${first}<link rel="stylesheet" href="${base}${style}">
<script type="module" src="${base}${entry}"></script>
${preloads.join("\n")}
</head>
<body${attributes.join("")}>
${frame}
</body>
</html>
`;
}
