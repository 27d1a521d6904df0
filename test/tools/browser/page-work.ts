/** Work for a step counter: a page is fetched, opened, searched and cited. */
import { openBrowser } from "../../../src/tools/browser/open-browser.ts";

export interface PageWork {
  readonly type: string;
  readonly body: string;
}

const ADDRESS = "https://a.example/dir/page";

export async function work({ type, body }: PageWork): Promise<void> {
  const { signal } = new AbortController();
  const browser = openBrowser(
    { browserSearch: "searxng", browserAllow: [], browserDeny: [] },
    { requestPage: () => Promise.resolve(toResponse(type, body)) },
  );
  const tool = browser({});
  const run = await tool.open({ tenant: "t", turnId: "1", saved: undefined, signal });
  const ask = async (name: string, args: object) => {
    const call = { id: "1", recipient: `browser.${name}`, body: JSON.stringify(args) };
    const { text, failed } = await run.run(call, signal);
    if (failed) throw new Error(text);
  };
  await ask("open", { id: ADDRESS, num_lines: 1 });
  run.cite?.(0, { first: 2, last: 1_000_000 });
  await ask("find", { pattern: "nowhere" });
}

function toResponse(type: string, body: string) {
  const bytes = new TextEncoder().encode(body);
  return {
    status: 200,
    header: () => type,
    body: (async function* () {
      for (let at = 0; at < bytes.length; at += 16_384) yield bytes.subarray(at, at + 16_384);
    })(),
    cancel: () => undefined,
  };
}
