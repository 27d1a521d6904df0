/**
 * The documents that `browserSearch: local` searches when no folder is configured: enough to see the browser tool
 * search, open and cite.
 */
import type { LocalDocument } from "./local-search.ts";

export const SAMPLE_DOCUMENTS: readonly LocalDocument[] = [
  {
    path: "browser.md",
    text: `# The browser tool

gpt-oss was trained with a tool called browser. It has three functions: search finds pages, open shows one of them in
numbered lines, and find looks for words in a page. The model calls them while it thinks. harmony-gateway runs the calls
and gives the results back, so that a client gets an answer with links to its sources.

Out of the box the gateway searches a few documents like this one. Set browserSearch to searxng, with the address of
your own SearXNG, or to exa, brave, tavily or you, with a key, and the model searches the web.
`,
  },
  {
    path: "harmony.md",
    text: `# Harmony, the format of gpt-oss

Harmony is the format in which gpt-oss reads and writes conversations. A message has an author, a channel and a body.
There are three channels: analysis is the chain of thought, commentary holds calls of functions, and final is the answer
for the user. A special token ends each message: end for a message, call for a call of a tool, and return for the turn.
`,
  },
  {
    path: "citations.md",
    text: `# Citations

The model cites what it has read by markers that hold the cursor of a page and its lines. The gateway replaces each marker
by a link and tells where in the answer it stands, as an annotation of the type url_citation. A marker for a page that
does not exist is left out.
`,
  },
];
