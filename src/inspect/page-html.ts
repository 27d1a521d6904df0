/**
 * The HTML of the page. Its frame is in it, so that the first paint waits for the style sheet alone; the script replaces the
 * frame by the same with its contents. All modules are named, or the browser would find each only in the one that imports it.
 */

export interface PageFiles {
  /** Where the files are: `inspect/app/VERSION/`, relative because a proxy may put the gateway below a path. */
  readonly base: string;
  readonly style: string;
  /** Asks for the first data. It imports little, and runs before the others are there. */
  readonly early: string;
  readonly entry: string;
  /** Every module that these two import, directly or not. */
  readonly modules: readonly string[];
}

export function toPageHtml({ base, style, early, entry, modules }: PageFiles): string {
  // Lower than what the first of them asks for, which would wait for a connection until all others are there.
  const preloads = modules.map(
    (name) => `<link rel="modulepreload" fetchpriority="low" href="${base}${name}">`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Inspector · harmony-gateway</title>
<script type="module" async fetchpriority="high" src="${base}${early}"></script>
<link rel="stylesheet" href="${base}${style}">
<script type="module" src="${base}${entry}"></script>
${preloads.join("\n")}
</head>
<body>
<div id="app">
<header class="top"><h1><span class="logo" aria-hidden="true">◧</span> Inspector</h1></header>
<div class="columns">
<nav class="list" aria-label="Turns"></nav>
<main><p class="quiet pad" role="status">Loading …</p></main>
</div>
</div>
<noscript>The inspector needs JavaScript.</noscript>
</body>
</html>
`;
}
