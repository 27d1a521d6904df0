/**
 * The site of the docs: the pages of `docs/` as they are, with a sidebar from the table in `docs/README.md`. They are copied to `pages` first, since a page
 * has to stand below the packages that it is built with.
 */
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { defineConfig, type DefaultTheme } from "vitepress";
import llms from "vitepress-plugin-llms";

const DOCS = join(import.meta.dirname, "../../docs");
/** Where files outside of `docs/` are found. GitHub's workflows set the variable. */
const SOURCE = `https://github.com/${process.env["GITHUB_REPOSITORY"] ?? "OWNER/harmony-gateway"}/blob/main`;

export default defineConfig({
  title: "harmony-gateway",
  description: "Run gpt-oss on your own server and use it from any OpenAI or Anthropic client.",
  srcDir: "pages",
  outDir: "dist",
  srcExclude: ["decisions/**", "images/**"],
  rewrites: { "README.md": "index.md", "clients/README.md": "clients/index.md" },
  cleanUrls: true,
  markdown: { config: (markdown) => markdown.core.ruler.push("links-to-source", linkToSource) },
  vite: { plugins: [llms()] },
  themeConfig: {
    sidebar: readSidebar(),
    search: { provider: "local" },
    outline: [2, 3],
  },
});

/** A row of the table is a group, and each link in it a page. The pages of single clients follow, from the table in `docs/clients/README.md`. */
function readSidebar(): DefaultTheme.SidebarItem[] {
  const index = readFileSync(join(DOCS, "README.md"), "utf8");
  const groups = Array.from(
    index.matchAll(/^\| ([^|]+?) +\| (\[.*?) +\|$/gm),
    ([, group = "", links = ""]) => ({
      text: group.charAt(0).toUpperCase() + group.slice(1),
      items: Array.from(links.matchAll(/\[([^\]]+)\]\(([^)]+)\)/g), ([, text = "", page = ""]) => ({
        text,
        link: toAddress(page),
      })).filter(({ link }) => isOnSite(link)),
    }),
  ).filter(({ items }) => items.length > 0);
  const clients = readFileSync(join(DOCS, "clients/README.md"), "utf8");
  const items = Array.from(
    clients.matchAll(/^\| \[([^\]]+)\]\(([^)]+)\)/gm),
    ([, text = "", page = ""]) => ({ text, link: toAddress(`clients/${page}`) }),
  );
  return [...groups, { text: "Clients", collapsed: true, items }];
}

function toAddress(page: string): string {
  return page.startsWith("../") ? page : `/${page.replace(/README\.md$/, "").replace(/\.md$/, "")}`;
}

function isOnSite(address: string): boolean {
  return !address.startsWith("../") && !address.startsWith("/decisions");
}

interface Token {
  readonly type: string;
  readonly children: readonly Token[] | null;
  attrGet(name: string): string | null;
  attrSet(name: string, value: string): void;
}

interface State {
  readonly tokens: readonly Token[];
  readonly env: { readonly relativePath?: string };
}

/** Links out of `docs/`, and to pages that are not on the site, lead to the repository. */
function linkToSource({ tokens, env }: State): void {
  const page = env.relativePath ?? "";
  for (const token of tokens.flatMap(({ children }) => children ?? [])) {
    const href = token.type === "link_open" ? token.attrGet("href") : null;
    if (href === null || /^[a-z]+:|^#|^\//.test(href)) continue;
    const path = join(
      "docs",
      page.includes("/") ? page.slice(0, -basename(page).length) : "",
      href,
    );
    const isPage =
      path.startsWith("docs/") &&
      !/^docs\/(?:decisions|images)\//.test(path) &&
      /\.md(?:#|$)/.test(path);
    if (!isPage) token.attrSet("href", `${SOURCE}/${path}`);
  }
}
