/**
 * The HTML of a page. It contains the frame, so that the first paint waits for the style sheet alone; the script replaces the
 * frame by one with contents. All modules are preloaded, because the browser would find each only in the module that imports it.
 */
import { escapeHtml } from "../api/pages/html.ts";
import type { PageDescription } from "./assets.ts";

export interface PageFiles {
  /** `app/VERSION/`, relative because a proxy may put the gateway below a path. */
  readonly base: string;
  readonly style: string;
  readonly icon: string;
  readonly entry: string;
  /** The module that requests the first data. It has few imports, and runs before the others are loaded. */
  readonly early?: string | undefined;
  /** All other modules that these import, directly or indirectly. */
  readonly modules: readonly string[];
}

/** @param facts attributes of the body by name, without `data-`. */
export function toPageHtml(
  { title, frame }: PageDescription,
  { base, style, icon, early, entry, modules }: PageFiles,
  facts: Readonly<Record<string, string>> = {},
): string {
  // Low priority: the requests of the first module would wait for a connection until all others are loaded.
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
