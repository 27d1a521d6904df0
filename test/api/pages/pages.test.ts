import { Hono } from "hono";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { compileSchema } from "../../../src/json-schema/index.ts";
import { createAssets } from "../../../src/node/pages/assets.ts";
import { appOf } from "../../helpers/app.ts";
import { fakeEngine } from "../../helpers/fake-engine.ts";
import { testSettings } from "../../helpers/gateway.ts";
import { OPENAPI, OPERATIONS } from "../../helpers/openapi-check.ts";

function appWith(settings = {}, assets?: ReturnType<typeof createAssets>) {
  return appOf(testSettings(settings), [{ id: "<b>model</b>", engine: fakeEngine() }], { assets });
}

const KEYS = { keys: [`alice:${"a".repeat(64)}`] };
const HTML = { headers: { accept: "text/html,application/xhtml+xml" } };

/** Aliases of other paths, which the document's description mentions, and static files. */
const ALIASES = /^\/(api\/v1|open-responses)\/|^\/style\.css$/;

describe("the OpenAPI document", () => {
  test("has every route of the application, and no other", () => {
    const app: unknown = appWith();
    const { routes } = z.instanceof(Hono).parse(app);
    const served = routes
      .filter(({ method, path }) => method !== "ALL" && !ALIASES.test(path))
      .map(({ method, path }) => {
        return `${method.toLowerCase()} ${path.replaceAll(/:(\w+)(\{[^}]*\})?/g, "{$1}")}`;
      });
    expect(new Set(served)).toEqual(new Set(OPERATIONS.map(({ name }) => name)));
  });

  test("is served without a key", async () => {
    const response = await appWith(KEYS).request("/openapi.json");
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ openapi: "3.1.0" });
  });

  test("describes every property of every request", () => {
    const { schemas } = OPENAPI.components;
    const missing: string[] = [];
    const check = (value: unknown, path: string): void => {
      if (typeof value !== "object" || value === null) return;
      for (const [name, each] of Object.entries(value)) {
        const isList = name === "properties" && !path.endsWith(".properties");
        if (isList) {
          for (const [field, member] of Object.entries(each ?? {})) {
            const { description } = z
              .looseObject({ description: z.string().default("") })
              .parse(member);
            if (description === "") missing.push(`${path}.${field}`);
          }
        }
        check(each, `${path}.${name}`);
      }
    };
    for (const { body } of OPERATIONS) if (body) check(schemas[body], body);
    expect(missing).toEqual([]);
  });

  test("is right behind any proxy, and has code for each API", async () => {
    const document = z
      .object({
        servers: z.unknown(),
        paths: z.record(z.string(), z.object({ post: z.looseObject({}).optional() })),
      })
      .parse(await (await appWith().request("/openapi.json")).json());
    expect(document.servers).toEqual([{ url: "." }]);
    for (const path of ["/v1/chat/completions", "/v1/responses", "/v1/messages"]) {
      expect(document.paths[path]?.post?.["x-codeSamples"]).toMatchObject([
        { lang: "Shell", source: expect.stringContaining(`curl http://127.0.0.1:8787${path}`) },
        { lang: "Python" },
        { lang: "JavaScript" },
      ]);
    }
  });

  test("contains no dangling reference", () => {
    const document = JSON.stringify(OPENAPI);
    const references = new Set(
      Array.from(document.matchAll(/"\$ref":"#\/([^"]*)"/g), ([, to]) => to),
    );
    expect(references.size).toBeGreaterThan(5);
    for (const path of references) {
      let at: unknown = OPENAPI;
      for (const key of path?.split("/") ?? [])
        at = z.record(z.string(), z.unknown()).parse(at)[key];
      expect([path, typeof at]).toEqual([path, "object"]);
    }
  });

  const { schemas } = OPENAPI.components;
  const text = { type: "input_text", text: "Hi" };
  test.each([
    ["ChatCompletionRequest", { messages: [{ role: "user", content: "Hi" }] }, { messages: "Hi" }],
    ["ResponseRequest", { model: "m", input: [{ role: "user", content: [text] }] }, { input: 5 }],
    [
      "MessagesRequest",
      { model: "m", max_tokens: 5, messages: [{ role: "user", content: "Hi" }] },
      { model: "m" },
    ],
  ])("%s accepts a request and refuses a wrong one", async (name, right, wrong) => {
    const defs = JSON.parse(
      JSON.stringify(schemas).replaceAll("#/components/schemas/", "#/$defs/"),
    );
    const schema = compileSchema({ $defs: defs, $ref: `#/$defs/${name}` });
    const pause = () => Promise.resolve();
    expect(await schema.check(right, { pause })).toMatchObject({ valid: true });
    expect(await schema.check(wrong, { pause })).toMatchObject({ valid: false });
  });
});

describe("pages", () => {
  test("/api has at most 60 KB, a table of each request's fields, and opens requests in the chat", async () => {
    const html = await (await appWith({}, createAssets()).request("/api", HTML)).text();
    expect(Buffer.byteLength(html)).toBeLessThanOrEqual(60_000);
    expect(html.match(/<table>/g)).toHaveLength(OPERATIONS.filter(({ body }) => body).length);
    expect(html.match(/href="\.\/#request=/g)).toHaveLength(3);
    expect(await (await appWith().request("/api", HTML)).text()).not.toContain("#request=");
  });

  test("/api leads to the pages that there are", async () => {
    const links = async (app: ReturnType<typeof appWith>) => {
      const html = await (await app.request("/api", HTML)).text();
      const [, nav = ""] = /<nav class="places"[^>]*>(.*)<\/nav>/.exec(html) ?? [];
      return nav;
    };
    expect(await links(appWith())).toBe('<a href="api" aria-current="page">API</a>');
    expect(await links(appWith({}, createAssets()))).toBe(
      '<a href="./">Chat</a><a href="api" aria-current="page">API</a>',
    );
  });

  test.each(["/", "/api"])("%s loads and runs nothing", async (path) => {
    const response = await appWith().request(path, HTML);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toMatch(/^text\/html/);
    expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
    const html = await response.text();
    expect(html).not.toMatch(/<script|\bsrc=|href="https?:|url\(/);
    for (const [, link = ""] of html.matchAll(/href="([^"#]+)"/g)) {
      const { status } = await appWith().request(link, HTML);
      expect([link, status]).toEqual([link, 200]);
    }
  });

  test("/ is a chat where the runtime has its files, links by the setting home, or nothing", async () => {
    const assets = createAssets();
    const htmlOf = async (home: string) => {
      const response = await appWith({ home }, assets).request("/", HTML);
      return response.status === 404 ? undefined : response.text();
    };
    const chat = (await htmlOf("chat")) ?? "";
    for (const [, address] of chat.matchAll(/(?:src|href)="(app\/[^"]+)"/g)) {
      const file = await appWith({}, assets).request(`/${address}`);
      expect([address, file.status]).toEqual([address, 200]);
    }
    expect(chat).toContain("web/chat/app.ts");
    expect(chat).not.toContain("model&#60;");
    expect(await htmlOf("links")).toContain("Base URL for OpenAI's clients");
    expect(await htmlOf("off")).toBeUndefined();
    expect((await appWith({}, assets).request("/")).status).toBe(404);
  });

  test("the landing page names the models, as text", async () => {
    const html = await (await appWith().request("/", HTML)).text();
    expect(html).toContain("&#60;b&#62;model&#60;/b&#62;");
    expect(html).not.toContain("<b>");
  });

  test("with keys configured it names no models", async () => {
    const html = await (await appWith(KEYS).request("/", HTML)).text();
    expect(html).not.toContain("model&#60;");
    expect(html).toContain("Bearer &#60;key&#62;");
  });
});

test("/ is a 404 for clients that do not accept HTML", async () => {
  expect((await appWith().request("/")).status).toBe(404);
});

describe("an unknown address", () => {
  test.each([
    ["/chat/completions", "Did you mean /v1/chat/completions?"],
    ["/v1/embeddings", "There are no embeddings here: gpt-oss does not make any."],
    ["/v1/completions", "There are no text completions here"],
    ["/v1/images/generations", "gpt-oss reads and writes text only."],
    ["/v1/chat/completion", "There is no route with this path. There are /v1/chat/completions"],
  ])("%s says what there is", async (path, sentence) => {
    const response = await appWith().request(path, { method: "POST", body: "{}" });
    expect(response.status).toBe(404);
    const { error } = z
      .object({ error: z.object({ message: z.string() }) })
      .parse(await response.json());
    expect(error.message).toContain(sentence);
  });
});
