/** The chat's page. */
import type { PageDescription } from "./assets.ts";

export const CHAT_PAGE: PageDescription = {
  name: "chat",
  title: "harmony-gateway",
  entry: "web/chat/app",
  styles: [
    "web/shared/style/base",
    "web/shared/style/controls",
    ...["frame", "sidebar", "log", "composer", "pane", "markdown", "narrow"].map(
      (name) => `web/chat/style/${name}`,
    ),
  ],
  frame: `<div id="app" class="chat-page">
<header class="top"><h1 class="brand"><span class="logo" aria-hidden="true"></span><span class="name">harmony-gateway</span></h1></header>
<main class="stage"><p class="quiet pad" role="status">Loading …</p></main>
</div>
<noscript>The chat needs JavaScript. <a href="api">The APIs</a> do not.</noscript>`,
};
