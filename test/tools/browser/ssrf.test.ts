/** Addresses that a page or a model may try in order to see the operator's own network. */
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { listenAnywhere } from "../../helpers/listen.ts";
import { createSafeRequest } from "../../../src/node/safe-fetch.ts";
import { isPublicAddress } from "../../../src/tools/browser/addresses.ts";
import { createPageFetch } from "../../../src/tools/browser/fetch-page.ts";
import { checkUrl, FetchRefused, isAllowedHost } from "../../../src/tools/browser/url-policy.ts";

const OPEN = { allow: [], deny: [] };

describe("URLs that are refused before anything is resolved", () => {
  test.each([
    // Loopback, in every spelling that `URL` reads.
    "http://127.0.0.1/",
    "http://127.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.0.0.1/",
    "http://0177.0.0.1/",
    "http://127.0.0.1./",
    "http://127.0.0.1../",
    "http://１２７.０.０.１/",
    "http://①②⑦.0.0.1/",
    "http://0/",
    "http://0.0.0.0/",
    "http://[::1]/",
    "http://[::]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://localhost/",
    "http://localhost./",
    "http://localhost.../",
    "http://LOCALHOST/",
    "http://app.localhost/",
    // IPv4 inside IPv6.
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b::10.0.0.1]/",
    "http://[64:ff9b:1::1]/",
    "http://[2002:7f00:1::]/",
    "http://[2002:a00:1::]/",
    "http://[2001:0:7f00:1::]/",
    // Private, shared, link-local, multicast, documentation.
    "http://10.0.0.1/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.1.1/",
    "http://100.64.0.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://198.18.0.1/",
    "http://192.0.0.192/",
    "http://224.0.0.1/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    "http://[fc00::1]/",
    "http://[fd00:ec2::254]/",
    "http://[fe80::1]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://[2001:db8::1]/",
    "http://[100::1]/",
    // Names of local networks.
    "http://metadata.google.internal/",
    "http://metadata.google.internal../",
    "http://printer.local/",
    "http://router.lan/",
    "http://intranet/",
    // Not the web.
    "file:///etc/passwd",
    "ftp://example.org/",
    "gopher://example.org/",
    "data:text/html,x",
    "javascript:alert(1)",
    // Credentials and ports.
    "http://example.org@127.0.0.1/",
    "http://user@example.org/",
    "http://user:pass@example.org/",
    "http://example.org:22/",
    "http://example.org:8080/",
    "https://example.org:6379/",
    "not a url",
    "",
    // Longer than servers accept.
    `https://example.org/${"x".repeat(8192)}`,
  ])("%s", (url) => {
    expect(() => checkUrl(url, OPEN)).toThrow(FetchRefused);
  });

  test.each([
    "https://example.org/",
    "http://example.org:80/a?b#c",
    "https://example.org:443/",
    "http://8.8.8.8/",
    "http://172.32.0.1/",
    "http://[2606:4700::1111]/",
    "http://xn--bcher-kva.example/",
  ])("%s is not", (url) => {
    expect(checkUrl(url, OPEN).href).toBe(new URL(url).href);
  });
});

test.each([
  ["8.8.8.8", true],
  ["::ffff:8.8.8.8", false],
  ["64:ff9b::8.8.8.8", true],
  ["2002:808:808::1", true],
  ["fe80::1%eth0", false],
  ["1.2.3", false],
  ["::1::", false],
  ["", false],
])("address %j is public: %s", (address, expected) => {
  expect(isPublicAddress(address)).toBe(expected);
});

test("domains are allowed and denied with their subdomains, but not names that only end the same", () => {
  const policy = { allow: ["example.org"], deny: ["bad.example.org"] };
  expect(isAllowedHost("example.org", policy)).toBe(true);
  expect(isAllowedHost("www.example.org", policy)).toBe(true);
  expect(isAllowedHost("bad.example.org", policy)).toBe(false);
  expect(isAllowedHost("very.bad.example.org", policy)).toBe(false);
  expect(isAllowedHost("notexample.org", policy)).toBe(false);
  expect(isAllowedHost("example.org.evil.test", policy)).toBe(false);
});

test("a name with dots at its end is allowed and denied like the same name without them", () => {
  const policy = { allow: [], deny: ["evil.com", "bad.example."] };
  for (const host of [
    "evil.com.",
    "evil.com..",
    "www.evil.com...",
    "bad.example",
    "bad.example..",
  ]) {
    expect(isAllowedHost(host, policy)).toBe(false);
    expect(() => checkUrl(`https://${host}/`, policy)).toThrow(
      new FetchRefused("this domain is not allowed"),
    );
  }
  expect(isAllowedHost("example.org..", { allow: ["example.org"], deny: [] })).toBe(true);
});

test("a request cannot allow what the operator does not", () => {
  const policy = { allow: ["evil.test", "docs.example.org"], within: ["example.org"], deny: [] };
  expect(isAllowedHost("evil.test", policy)).toBe(false);
  expect(isAllowedHost("docs.example.org", policy)).toBe(true);
  expect(isAllowedHost("www.example.org", policy)).toBe(false);
});

const recordedCase = z.object({
  id: z.string(),
  kind: z.string(),
  input: z.object({ url: z.string().default(""), redirectsTo: z.string().optional() }),
});

const CASES = readFileSync(
  join(import.meta.dirname, "../../fixtures/builtin-tools/cases.jsonl"),
  "utf8",
)
  .trim()
  .split("\n")
  .map((line) => recordedCase.parse(JSON.parse(line)))
  .filter(({ kind }) => kind === "fetch-policy");

test.each(CASES)("$id: the recorded address, or its redirect, is refused", async ({ input }) => {
  const fetchPage = createPageFetch(() =>
    Promise.resolve({
      status: input.redirectsTo === undefined ? 200 : 302,
      header: (name) => (name === "location" ? (input.redirectsTo ?? null) : null),
      body: null,
      cancel: () => undefined,
    }),
  );
  const { signal } = new AbortController();
  await expect(fetchPage(input.url, OPEN, signal)).rejects.toThrow(FetchRefused);
});

describe("connections", () => {
  let server: Server;
  let port: number;
  const seen: string[] = [];

  beforeAll(async () => {
    server = createServer((request, response) => {
      seen.push(`${request.headers.host}${request.url}`);
      const path = request.url ?? "";
      if (path.startsWith("/to?")) {
        response.writeHead(302, { location: decodeURIComponent(path.slice(4)) }).end();
      } else if (path === "/pdf") {
        response.writeHead(200, { "content-type": "application/pdf" }).end("%PDF");
      } else if (path === "/large") {
        response.writeHead(200, { "content-type": "text/plain" });
        response.end("x".repeat(6 * 1024 * 1024));
      } else if (path === "/latin") {
        response.writeHead(200, { "content-type": "text/html; charset=iso-8859-1" });
        response.end(Buffer.from("caf\u00e9", "latin1"));
      } else if (path === "/slow") {
        response.writeHead(200, { "content-type": "text/plain" }).write("begun");
      } else {
        response.writeHead(200, { "content-type": "text/html" }).end("<p>hello</p>");
      }
    });
    port = await listenAnywhere(server);
  });

  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  /** Port 80 of a made-up name leads to the fixture, as if it were a public server. */
  function fetchWith(resolve: (host: string) => string[], isPublic = isPublicAddress) {
    const asked: string[] = [];
    const safe = createSafeRequest({
      resolve(host) {
        asked.push(host);
        return Promise.resolve(resolve(host).map((address) => ({ address, family: 4 })));
      },
      isPublic,
    });
    const fetchPage = createPageFetch((url, signal) => {
      const target = new URL(url);
      target.port = String(port);
      return safe.requestPage(target, signal);
    });
    return {
      asked,
      fetch: (url: string, signal = new AbortController().signal) => fetchPage(url, OPEN, signal),
    };
  }

  const loopback = () => ["127.0.0.1"];
  const anything = () => true;

  test("a name that resolves to a private address is refused before a connection is made", async () => {
    const before = seen.length;
    await expect(fetchWith(loopback).fetch("http://rebind.example/")).rejects.toThrow("not public");
    expect(seen).toHaveLength(before);
  });

  test("one private address among public ones is enough to refuse", async () => {
    const mixed = fetchWith(() => ["8.8.8.8", "10.0.0.1"]);
    await expect(mixed.fetch("http://mixed.example/")).rejects.toThrow("not public");
  });

  test("the connection goes to the address that was checked: the name is resolved once", async () => {
    const answers = [["127.0.0.1"], ["10.0.0.1"]];
    const { asked, fetch } = fetchWith(
      () => answers.shift() ?? [],
      (address) => address === "127.0.0.1",
    );
    const page = await fetch("http://once.example/");
    expect(page).toMatchObject({ url: "http://once.example/", body: "<p>hello</p>" });
    expect(asked).toEqual(["once.example"]);
  });

  test("a redirect to a private address is refused", async () => {
    const { fetch } = fetchWith(loopback, anything);
    for (const target of [
      "http://169.254.169.254/",
      "http://[::1]/",
      "file:///etc/passwd",
      "http://a.example:22/",
    ]) {
      await expect(fetch(`http://a.example/to?${encodeURIComponent(target)}`)).rejects.toThrow(
        FetchRefused,
      );
    }
    expect(seen.at(-1)).toContain("/to?");
  });

  test("a redirect to a name that resolves to a private address is refused", async () => {
    const hosts: Record<string, string[]> = {
      "a.example": ["127.0.0.1"],
      "inside.example": ["10.1.2.3"],
    };
    const { fetch } = fetchWith(
      (host) => hosts[host] ?? [],
      (address) => address === "127.0.0.1",
    );
    await expect(
      fetch(`http://a.example/to?${encodeURIComponent("http://inside.example/")}`),
    ).rejects.toThrow("not public");
  });

  test("at most five redirects are followed, relative ones included", async () => {
    const { fetch } = fetchWith(loopback, anything);
    expect(await fetch("http://a.example/to?%2Fpage")).toMatchObject({
      url: "http://a.example/page",
    });
    const loop = (depth: number): string =>
      depth === 0 ? "/" : `/to?${encodeURIComponent(loop(depth - 1))}`;
    await expect(fetch(`http://a.example${loop(5)}`)).resolves.toMatchObject({
      body: "<p>hello</p>",
    });
    await expect(fetch(`http://a.example${loop(6)}`)).rejects.toThrow("redirects too often");
  });

  test("responses that are not text, too large or too slow are refused", async () => {
    const { fetch } = fetchWith(loopback, anything);
    await expect(fetch("http://a.example/pdf")).rejects.toThrow(
      "application/pdf, which cannot be read",
    );
    await expect(fetch("http://a.example/large")).rejects.toThrow("larger than 5 MB");
    const abort = new AbortController();
    const slow = fetch("http://a.example/slow", abort.signal);
    setTimeout(() => abort.abort(), 50);
    await expect(slow).rejects.toThrow(/abort/i);
  });

  test("other character sets are read", async () => {
    expect((await fetchWith(loopback, anything).fetch("http://a.example/latin")).body).toBe("café");
  });
});
