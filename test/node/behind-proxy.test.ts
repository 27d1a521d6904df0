/** A gateway behind nginx, with TLS, below a path, and for three keys. */
import { createHash } from "node:crypto";
import * as tls from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { HAS_OPENSSL, makeCertificate } from "../helpers/certificate.ts";
import { startTestGateway, type TestGateway } from "../helpers/gateway.ts";
import { freePort } from "../helpers/listen.ts";
import { runCommand } from "../helpers/command-io.ts";
import { HAS_NGINX, startTlsNginx, type TestNginx } from "../helpers/nginx.ts";

const NAMES = ["alice", "bob", "carol"];
const toKey = (name: string) => `sk-${name}-0123456789abcdef`;
const HTML = { accept: "text/html" };
const INSPECT_KEY = "inspector-of-the-operator";

describe.skipIf(!HAS_NGINX || !HAS_OPENSSL)(
  "behind nginx with TLS and a path (skipped if nginx or openssl is not installed)",
  () => {
    const trusted = tls.getCACertificates();
    let gateway: TestGateway;
    let nginx: TestNginx;
    /** The public URL, with the path. */
    let publicUrl: string;

    beforeAll(async () => {
      const port = await freePort();
      const certificate = makeCertificate();
      tls.setDefaultCACertificates([...trusted, certificate.cert]);
      nginx = await startTlsNginx(`http://127.0.0.1:${port}`, certificate);
      publicUrl = `${nginx.origin}/team`;
      gateway = await startTestGateway({
        settings: {
          port,
          publicUrl,
          keys: NAMES.map((name) => ({ name, sha256: toHash(toKey(name)) })),
          inspect: true,
          inspectKey: INSPECT_KEY,
        },
      });
    });
    afterAll(async () => {
      tls.setDefaultCACertificates(trusted);
      await gateway.close();
      await nginx.stop();
    });

    test("each key is served, and none is not", async () => {
      const body = JSON.stringify({ messages: [{ role: "user", content: "Hello!" }] });
      const ask = async (headers: Record<string, string>) => {
        const url = `${publicUrl}/v1/chat/completions`;
        return (await fetch(url, { method: "POST", headers, body })).status;
      };
      for (const name of NAMES) {
        expect(await ask({ authorization: `Bearer ${toKey(name)}` })).toBe(200);
      }
      expect(await ask({})).toBe(401);
    });

    test("every address of the start screen is the public one", () => {
      const start = gateway.logged.find(({ event }) => event === "start");
      expect(start).toMatchObject({ baseUrl: `${publicUrl}/v1`, inspect: `${publicUrl}/inspect` });
      expect(JSON.stringify(start)).not.toContain("127.0.0.1");
    });

    test.each(["/", "/api", "/inspect"])(
      "every link and file of the page %s is there below the path",
      async (path) => {
        const page = await fetch(publicUrl + path, { headers: HTML });
        expect(page.status).toBe(200);
        const text = await page.text();
        const links = [...text.matchAll(/\b(?:href|src)="([^"#]+)"/g)];
        expect(links.length).toBeGreaterThan(1);
        for (const [, link = ""] of links) {
          const { href } = new URL(link, page.url);
          const headers = { ...HTML, authorization: `Bearer ${toKey("alice")}` };
          const { status } = await fetch(href, { headers });
          expect([href.startsWith(`${publicUrl}/`), status, href]).toEqual([true, 200, href]);
        }
      },
    );

    test("the page / and the OpenAPI document name the public address", async () => {
      const page = await (await fetch(`${publicUrl}/`, { headers: HTML })).text();
      expect(page).toContain(`data-origin="${publicUrl}"`);
      expect(page).not.toContain("127.0.0.1");
      const document = await (await fetch(`${publicUrl}/openapi.json`)).json();
      expect(z.object({ servers: z.unknown() }).parse(document).servers).toEqual([
        { url: publicUrl },
      ]);
    });

    test("connect prints the public address", async () => {
      const args = ["connect", "claude", "--gateway", publicUrl];
      const environment = { HARMONY_GATEWAY_KEY: toKey("bob") };
      const { printed } = await runCommand(args, { environment });
      expect(printed).toContain(publicUrl);
      expect(printed).not.toContain("127.0.0.1");
    });
  },
);

function toHash(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}
