/** The inspector's page. */
import type { PageDescription } from "../pages/assets.ts";

export const INSPECT_PAGE: PageDescription = {
  name: "inspect",
  title: "Inspector · harmony-gateway",
  entry: "web/inspect/app",
  early: "web/inspect/first-load",
  styles: [
    "web/shared/style/base",
    "web/shared/style/controls",
    ...[
      "frame",
      "list",
      "overview",
      "turn",
      "messages",
      "tokens",
      "lanes",
      "parts",
      "panes",
      "narrow",
    ].map((name) => `web/inspect/style/${name}`),
  ],
  frame: `<div id="app">
<header class="top"><h1 class="brand"><span class="logo" aria-hidden="true"></span><span class="name">harmony-gateway</span></h1></header>
<div class="columns">
<nav class="list" aria-label="Turns"></nav>
<main><p class="quiet pad" role="status">Loading …</p></main>
</div>
</div>
<noscript>The inspector needs JavaScript.</noscript>`,
};
