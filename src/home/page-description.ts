/** The chat's page. */
import type { PageDescription } from "../pages/assets.ts";

export const HOME_PAGE: PageDescription = {
  name: "home",
  title: "harmony-gateway",
  entry: "home/page/app",
  styles: [
    "pages/style/base",
    ...["frame", "sidebar", "log", "composer", "pane", "markdown", "narrow"].map(
      (name) => `home/page/style/${name}`,
    ),
  ],
  frame: `<div id="app" class="home">
<header class="top"><h1><span class="logo" aria-hidden="true"></span>harmony-gateway</h1></header>
<main class="stage"><p class="quiet pad" role="status">Loading …</p></main>
</div>
<noscript>The chat needs JavaScript. <a href="api">The APIs</a> do not.</noscript>`,
};
