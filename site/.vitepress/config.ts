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
  srcExclude: ["images/**"],
  rewrites: { "README.md": "index.md" },
  cleanUrls: true,
  markdown: { config: (markdown) => markdown.core.ruler.push("links-to-source", linkToSource) },
  vite: { plugins: [llms()] },
  themeConfig: {
    sidebar: readSidebar(),
    search: { provider: "local" },
    outline: [2, 3],
  },
});

/** A row of the table is a group, and each link in it a page. */
function readSidebar(): DefaultTheme.SidebarItem[] {
  const index = readFileSync(join(DOCS, "README.md"), "utf8");
  const groups = Array.from(
    index.matchAll(/^\| ([^|]+?) +\| (\[.*?) +\|$/gm),
    ([, group = "", links = ""]) => ({
      text: group.charAt(0).toUpperCase() + group.slice(1),
      items: Array.from(links.matchAll(/\[([^\]]+)\]\(([^)]+)\)/g), ([, text = "", page = ""]) => ({
        text,
        link: toAddress(page),
      })).filter(({ link }) => !link.startsWith("../")),
    }),
  ).filter(({ items }) => items.length > 0);
  return groups;
}

function toAddress(page: string): string {
  return page.startsWith("../") ? page : `/${page.replace(/README\.md$/, "").replace(/\.md$/, "")}`;
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

/** Links out of `docs/` lead to the repository. */
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
      path.startsWith("docs/") && !path.startsWith("docs/images/") && /\.md(?:#|$)/.test(path);
    if (!isPage) token.attrSet("href", `${SOURCE}/${path}`);
  }
}
