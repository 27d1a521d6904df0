import { expect, test } from "vitest";
import { createStaticAssets } from "../../src/pages/static-assets.ts";

const PAGE = { name: "chat", title: "T", entry: "a", styles: [], frame: "<p>Loading</p>" };
const NAMES = {
  base: "app/chat-1/",
  style: "s.css",
  icon: "i.svg",
  entry: "a.js",
  modules: ["b.js"],
};

/** Static assets whose first answers are these; the last is repeated. */
function assetsOf(...answers: readonly (() => Response)[]) {
  const asked: string[] = [];
  const next = (url: string) => {
    const answer = answers[Math.min(asked.length, answers.length - 1)];
    asked.push(url);
    return answer === undefined ? Promise.reject(new Error("none")) : Promise.resolve(answer());
  };
  return { asked, pages: createStaticAssets({ fetch: next }) };
}

test("the HTML names the files that the build has written", async () => {
  const { asked, pages } = assetsOf(() => Response.json({ chat: NAMES }));
  const html = await pages.html(PAGE, { origin: "https://host" });
  expect(html).toContain('<script type="module" src="app/chat-1/a.js">');
  expect(html).toContain('href="app/chat-1/b.js"');
  expect(html).toContain('<body data-origin="https://host">\n<p>Loading</p>');
  await pages.html(PAGE);
  expect(asked).toEqual(["http://assets/app/pages.json"]);
});

test("assets without the names, or without the page, are an error; the next request asks again", async () => {
  const { pages } = assetsOf(
    () => new Response("", { status: 404 }),
    () => Response.json({ chat: NAMES }),
  );
  await expect(pages.html(PAGE)).rejects.toThrow("The static assets lack /app/pages.json (404).");
  await expect(pages.html({ ...PAGE, name: "inspect" })).rejects.toThrow(
    "The static assets lack the page inspect.",
  );
  expect(await pages.html(PAGE)).toContain("a.js");
});
