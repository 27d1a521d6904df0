import { expect, test } from "vitest";
import { toPageHtml } from "../../src/pages/page-html.ts";
import { appOf } from "../helpers/app.ts";
import { testSettings } from "../helpers/gateway.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

const app = appOf(testSettings(), [], {
  assets: {
    html: () => Promise.resolve("<p>chat</p>"),
    file: (version, path) =>
      Promise.resolve(
        `${version}/${path}` === "chat-1/web/chat/app.js"
          ? {
              type: "text/javascript",
              plain: bytes("plain"),
              encoded: new Map([
                ["br", bytes("brotli")],
                ["gzip", bytes("gzipped")],
              ]),
            }
          : undefined,
      ),
  },
});

test.each([
  ["gzip, deflate, br", "brotli", "br"],
  ["gzip;q=1.0, *;q=0.5", "gzipped", "gzip"],
  ["br;q=0, gzip", "gzipped", "gzip"],
  ["br; q=0.000", "plain", null],
  ["", "plain", null],
])("a browser that accepts %j gets the smallest of them", async (accepted, text, encoding) => {
  const headers = { "accept-encoding": accepted };
  const response = await app.request("/app/chat-1/web/chat/app.js", { headers });
  expect(await response.text()).toBe(text);
  expect(response.headers.get("content-encoding")).toBe(encoding);
  expect(response.headers.get("vary")).toBe("accept-encoding");
});

test("another version or path is a 404", async () => {
  for (const path of ["chat-2/web/chat/app.js", "chat-1/app.js", "chat-1/..%2fweb/chat/app.js"]) {
    expect((await app.request(`/app/${path}`)).status).toBe(404);
  }
});

test("facts become attributes, whatever is in them", () => {
  const page = { name: "chat", title: "T", entry: "a", styles: [], frame: "" };
  const names = { base: "app/1/", style: "s.css", icon: "i.svg", entry: "a.js", early: undefined };
  const facts = { origin: `https://host/"><script>` };
  const html = toPageHtml(page, { ...names, modules: [] }, facts);
  expect(html).toContain('<body data-origin="https://host/&#34;&#62;&#60;script&#62;">');
});

test("pages and their files may not load from elsewhere, nor make HTML of strings", async () => {
  for (const path of ["/", "/app/chat-1/web/chat/app.js"]) {
    const { status, headers } = await app.request(path, { headers: { accept: "text/html" } });
    expect(status).toBe(200);
    const policy = headers.get("content-security-policy");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("require-trusted-types-for 'script'; trusted-types lit-html");
  }
});
