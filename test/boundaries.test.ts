import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, test } from "vitest";

const SOURCES = join(import.meta.dirname, "..", "src");

/**
 * The folders, lowest layer first, and those that each may import:
 * `app → api → store → telemetry → models → config → turn → tools, engines → harmony → tokenizer`.
 */
const ALLOWED: Record<string, readonly string[]> = {
  "common-length": [],
  "json-text": [],
  lazy: [],
  streams: [],
  tokenizer: [],
  "json-schema": [],
  harmony: ["tokenizer"],
  openchatml: ["harmony", "json-schema"],
  engines: ["json-text", "lazy", "streams", "tokenizer"],
  // The demo engine stands in for a model as well as for a server, and a model speaks Harmony.
  "engines/demo": ["engines", "harmony", "streams", "tokenizer"],
  tools: ["harmony", "json-schema", "json-text", "lazy", "streams", "tokenizer"],
  turn: ["engines", "harmony", "json-schema", "streams", "tokenizer", "tools"],
  doctor: ["common-length", "engines", "harmony", "json-schema", "streams", "tokenizer", "turn"],
  config: ["engines", "harmony", "lazy", "turn"],
  models: ["config", "engines", "harmony", "lazy", "streams", "turn"],
  telemetry: [
    "common-length",
    "engines",
    "harmony",
    "json-text",
    "lazy",
    "models",
    "streams",
    "tokenizer",
    "tools",
    "turn",
  ],
  store: ["config", "harmony", "json-text", "lazy", "streams", "telemetry", "turn"],
  api: [
    "config",
    "engines",
    "harmony",
    "json-schema",
    "json-text",
    "lazy",
    "models",
    "snippets",
    "store",
    "streams",
    "telemetry",
    "tokenizer",
    "tools",
    "turn",
  ],
  snippets: [],
  pages: ["api"],
  inspect: ["api", "common-length", "config", "models", "pages", "telemetry", "tokenizer"],
};

/** The folders of `src/api/`, and those of them that each may import. Files beside them stand below, or serve all. */
const API_ALLOWED: Record<string, readonly string[]> = {
  request: [],
  middleware: ["request"],
  media: ["request"],
  tools: ["media", "request"],
  trained: ["request", "tools"],
  reply: ["request"],
  turn: ["media", "reply", "request", "tools", "trained"],
  "chat-completions": ["media", "reply", "request", "tools", "turn"],
  messages: ["media", "reply", "request", "tools", "turn"],
  responses: ["media", "middleware", "reply", "request", "tools", "turn"],
  pages: ["chat-completions", "messages", "reply", "request", "responses"],
};

/** This file names the types of all members of a request's context. */
const CONTEXT = "api/request/client.ts";

/** The folders of `web/`, and those that each may import. */
const WEB_ALLOWED: Record<string, readonly string[]> = {
  shared: ["../src/api"],
  chat: ["shared", "../src/api", "../src/harmony", "../src/openchatml", "../src/snippets"],
  inspect: ["shared", "../src/api", "../src/inspect", "../src/snippets", "../src/telemetry"],
};

/** Sources by path, `harmony/parse.ts`, and the paths each imports. */
const IMPORTS = importsIn(SOURCES);

function importsIn(root: string): ReadonlyMap<string, readonly string[]> {
  const paths = readdirSync(root, { recursive: true, encoding: "utf8" });
  return new Map(
    paths.filter((path) => path.endsWith(".ts")).map((path) => [path, importsOf(root, path)]),
  );
}

function importsOf(root: string, path: string): string[] {
  const text = readFileSync(join(root, path), "utf8");
  const specifiers = text.matchAll(/(?:\bfrom|\bimport|\bimport\()\s*"(\.[^"]+)"/g);
  return [...specifiers].map(([, specifier = ""]) => {
    return relative(root, join(root, dirname(path), specifier));
  });
}

function folderOf(path: string): string {
  if (/^engines\/demo(\/|\.ts$)/.test(path)) return "engines/demo";
  const [folder = ""] = path.split("/");
  return folder.replace(/\.ts$/, "");
}

test("the sources are found", () => {
  expect(IMPORTS.get("harmony/messages.ts")).toContain("harmony/conversation.ts");
  expect([...IMPORTS.keys()].map((path) => folderOf(path))).toEqual(
    expect.arrayContaining(Object.keys(ALLOWED)),
  );
});

test.each(Object.entries(API_ALLOWED))(
  "api/%s imports only folders below it",
  (folder, allowed) => {
    const folderIn = (path: string) => /^api\/([\w-]+)\//.exec(path)?.[1] ?? folder;
    const wrong = [...IMPORTS]
      .filter(([path]) => path.startsWith(`api/${folder}/`) && path !== CONTEXT)
      .flatMap(([path, imports]) =>
        imports
          .filter((each) => folderIn(each) !== folder && !allowed.includes(folderIn(each)))
          .map((each) => `${path} imports ${each}`),
      );
    expect(wrong).toEqual([]);
  },
);

test.each(Object.entries(ALLOWED))("%s imports only folders below it", (folder, allowed) => {
  const wrong = [...IMPORTS]
    .filter(([path]) => folderOf(path) === folder)
    .flatMap(([path, imports]) => imports.map((imported) => [path, imported] as const))
    .filter(([path, imported]) => {
      const target = folderOf(imported);
      // The list of engines names the demo engine like any other.
      const listsDemo = path === "engines/create-engine.ts" && target === "engines/demo";
      return target !== folder && !allowed.includes(target) && !listsDemo;
    })
    .map(([path, imported]) => `${path} imports ${imported}`);
  expect(wrong).toEqual([]);
});

test.each(Object.entries(WEB_ALLOWED))(
  "web/%s imports only folders below it",
  (folder, allowed) => {
    const wrong = [...importsIn(join(SOURCES, "../web"))]
      .filter(([path]) => path.startsWith(`${folder}/`))
      .flatMap(([path, imports]) => imports.map((imported) => [path, imported] as const))
      .filter(
        ([, imported]) => ![folder, ...allowed].some((name) => imported.startsWith(`${name}/`)),
      )
      .map(([path, imported]) => `${path} imports ${imported}`);
    expect(wrong).toEqual([]);
  },
);

test("only the Node entry imports Node modules", () => {
  const wrong = [...IMPORTS]
    .filter(([path]) => folderOf(path) !== "node")
    .filter(([, imports]) => imports.some((imported) => folderOf(imported) === "node"));
  expect(wrong).toEqual([]);
});

/** Features that Node has and one of the runtimes in docs/deploy.md lacks. `node scripts/smoke.ts` runs the package there. */
const NOT_EVERYWHERE = /\b(?:AbortSignal\.any|setImmediate|(?:Dec|C)ompressionStream)\(/;

test("portable code uses nothing that a documented runtime lacks", () => {
  const users = [...IMPORTS.keys()]
    .filter((path) => folderOf(path) !== "node")
    .filter((path) => NOT_EVERYWHERE.test(readFileSync(join(SOURCES, path), "utf8")));
  expect(users).toEqual([]);
});

test.each(["harmony", "json-schema", "openchatml", "tokenizer"])(
  "%s has no dependencies",
  (folder) => {
    const packages = [...IMPORTS.keys()]
      .filter((path) => folderOf(path) === folder)
      .flatMap((path) => {
        const text = readFileSync(join(SOURCES, path), "utf8");
        return [...text.matchAll(/^(?:import|export|\}) .*from "([^."][^"]*)"/gm)];
      })
      .map(([, name]) => name);
    expect(packages).toEqual([]);
  },
);

test("only telemetry knows OpenTelemetry's API, and only Node its SDK", () => {
  const users = [...IMPORTS.keys()].filter((path) =>
    readFileSync(join(SOURCES, path), "utf8").includes('"@opentelemetry/'),
  );
  expect(new Set(users.map((path) => folderOf(path)))).toEqual(new Set(["node", "telemetry"]));
  expect(users.filter((path) => folderOf(path) === "node")).toEqual([
    "node/telemetry/start-tracing.ts",
  ]);
});
