import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { CHAT_PAGE } from "../src/pages/chat-page.ts";

// The package as npm would publish it, unpacked where only its declared dependencies can be found.

const ROOT = join(import.meta.dirname, "..");
const run = promisify(execFile);

const Manifest = z.object({
  version: z.string(),
  bin: z.record(z.string(), z.string()),
  dependencies: z.record(z.string(), z.string()),
  exports: z.record(z.string(), z.union([z.string(), z.record(z.string(), z.string())])),
});

const Sbom = z.object({ components: z.array(z.object({ purl: z.string() })) });

let folder: string;
let tarball: string;
let checkout: string;
let installed: string;
let manifest: z.infer<typeof Manifest>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "harmony-gateway-package-"));
  const modules = join(folder, "node_modules");
  installed = join(modules, "harmony-gateway");
  await mkdir(modules);
  checkout = await copyCheckout(join(folder, "checkout"));
  await run("npm", ["pack", "--offline", "--pack-destination", folder], { cwd: checkout });
  tarball = join(folder, (await readdir(folder)).find((name) => name.endsWith(".tgz")) ?? "");
  await run("tar", ["-xzf", tarball], { cwd: folder });
  await rename(join(folder, "package"), installed);
  manifest = Manifest.parse(JSON.parse(await readFile(join(installed, "package.json"), "utf8")));
  // The package does not bring `@types/node`: its user has it. The compiler comes from this checkout.
  for (const name of [...Object.keys(manifest.dependencies), "@types/node"]) {
    await mkdir(dirname(join(modules, name)), { recursive: true });
    await symlink(join(ROOT, "node_modules", name), join(modules, name));
  }
});
afterAll(() => rm(folder, { recursive: true }));

/**
 * Packing builds the sources, and `dist` of the checkout may be in use: so a copy is packed. The copy has the files from which the
 * image is built, so that a file that the Dockerfile lacks is missing here.
 */
async function copyCheckout(target: string): Promise<string> {
  await mkdir(target);
  for (const name of [...(await copiedByDocker()), "CHANGELOG.md", "README.md"]) {
    await cp(join(ROOT, name), join(target, name), { recursive: true });
  }
  await symlink(join(ROOT, "node_modules"), join(target, "node_modules"));
  return target;
}

async function copiedByDocker(): Promise<Set<string>> {
  const dockerfile = await readFile(join(ROOT, "Dockerfile"), "utf8");
  const copies = dockerfile.matchAll(/^COPY (?!--)(.+) \S+$/gm);
  return new Set(Array.from(copies, ([, names = ""]) => names.split(" ")).flat());
}

test("an image is built from no more than the Dockerfile copies", async () => {
  const ignored = await readFile(join(ROOT, ".dockerignore"), "utf8");
  const sent = Array.from(ignored.matchAll(/^!(.+)$/gm), ([, name]) => name);
  expect(new Set(sent)).toEqual(await copiedByDocker());
});

test("exports and types are right for every module resolver", async () => {
  expect(await problemsOf(tarball)).toEqual([]);
});

/** The output of publint and attw if they fail. */
async function problemsOf(file: string): Promise<string[]> {
  const tools = [["publint", "--strict"] as const, ["attw", "--profile", "esm-only"] as const];
  const failed = tools.map(([name, ...options]) =>
    run(join(ROOT, "node_modules/.bin", name), [...options, file]).then(
      () => [],
      (error: { stdout: string; stderr: string }) => [name + error.stdout + error.stderr],
    ),
  );
  return (await Promise.all(failed)).flat();
}

test("it holds what runs and its types, and nothing they were made with", async () => {
  const entries = await readdir(installed, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(installed.length + 1));
  const others = files.filter(
    (path) =>
      !/^dist\/.+\.(js|d\.ts|css)$|^dist\/web\/(chat|inspect)\/[\w-]+\.(js|css)\.(br|gz)$|^dist\/static\//.test(
        path,
      ),
  );
  expect(others.toSorted()).toEqual([
    "CHANGELOG.md",
    "LICENSE",
    "NOTICE",
    "README.md",
    "dist/THIRD-PARTY-NOTICES",
    "dist/tokenizer/vocabulary.json",
    "dist/web/shared/style/icon.svg",
    "package.json",
  ]);
  expect(files).toContain("dist/web/inspect/app.js");
  expect(files).toContain("dist/web/chat/app.js");
  const styles = files.filter((path) => /^dist\/(?!static\/).*\.css$/.test(path));
  expect(styles.toSorted()).toEqual(["dist/web/chat/style.css", "dist/web/inspect/style.css"]);
  const targets = Object.values(manifest.exports).flatMap((each) =>
    typeof each === "string" ? [each] : Object.values(each),
  );
  for (const path of [...targets, ...Object.values(manifest.bin)]) {
    expect(files).toContain(path.replace("./", ""));
  }
});

test("every module finds those it imports", async () => {
  const dist = join(installed, "dist");
  const names = (await readdir(dist, { recursive: true })).filter((name) => name.endsWith(".js"));
  const imported = await Promise.all(
    names.map(async (name) => {
      const code = await readFile(join(dist, name), "utf8");
      const specifiers = code.matchAll(/^(?:import|export|\} from)\b[^"\n]*"(\.[^"]+\.js)";$/gm);
      return Array.from(specifiers, ([, path = ""]) => join(dirname(name), path));
    }),
  );
  const all = imported.flat();
  expect(all).toContain("tokenizer/o200k-harmony.js");
  expect(all.filter((name) => !names.includes(name))).toEqual([]);
});

test("its command has the notices of the packages bundled in it", async () => {
  const names = (await readdir(join(installed, "dist/command"))).filter((name) =>
    name.endsWith(".js"),
  );
  const code = await Promise.all(
    names.map((name) => readFile(join(installed, "dist/command", name), "utf8")),
  );
  // esbuild writes the file above each module.
  const bundled = new Set(
    Array.from(
      code.join("\n").matchAll(/^\s*\/\/ \S*node_modules\/((?:@[^/]+\/)?[^/]+)\//gm),
      ([, name]) => name ?? "",
    ),
  );
  expect(bundled).toContain("hono");
  const notices = await readFile(join(installed, "dist/THIRD-PARTY-NOTICES"), "utf8");
  const noticed = Array.from(notices.matchAll(/^--- (\S+) /gm), ([, name]) => name);
  // Modules of which tree shaking left nothing are named as well.
  expect(noticed).toEqual(expect.arrayContaining([...bundled]));
  // The page is minified, so that its modules have no names.
  expect(noticed).toContain("lit-html");
});

const CONSUMER = `
import { createEngine, createFetchTransport, createGateway, createMemoryStore, type Store } from "harmony-gateway";
import { START } from "harmony-gateway/harmony";
import { loadSettings, startGateway } from "harmony-gateway/node";
import { parseOpenChatML } from "harmony-gateway/openchatml";
import manifest from "harmony-gateway/package.json" with { type: "json" };
import { o200kHarmony } from "harmony-gateway/tokenizer";
import worker from "harmony-gateway/worker";

const store: Store = createMemoryStore({ maxEntries: 10, maxBytes: 1000, now: Date.now });
const engine = createEngine("demo", { model: "demo", transport: createFetchTransport() });
const embedded = createGateway({ engine, store, log: "silent" });
const gateway = await startGateway(loadSettings(["--port", "0", "--log", "silent"], {}).settings, {
});
const statuses = {
  embedded: (await embedded.fetch(new Request("http://x/health"))).status,
  node: (await fetch(gateway.baseUrl + "/models")).status,
  worker: (await worker.fetch(new Request("http://x/health"), { HARMONY_GATEWAY_OPEN: true, HARMONY_GATEWAY_LOG: "silent" }, { waitUntil() {} })).status,
};
await gateway.close();
const ids = [START, ...o200kHarmony().encode("Hello")];
const { messages } = parseOpenChatML("<|start|>user<|message|>Hi<|end|>");
console.log(JSON.stringify({ ...statuses, ids, said: messages[0]?.content, version: manifest.version }));
process.exit();
`;

describe("a program that uses each of its exports", () => {
  beforeAll(async () => {
    await writeFile(join(folder, "package.json"), '{ "type": "module" }');
    await writeFile(join(folder, "consumer.ts"), CONSUMER);
  });

  test.each([
    ["nodenext", "nodenext"],
    ["esnext", "bundler"],
  ])("compiles as %s with %s resolution", async (module, moduleResolution) => {
    const config = join(folder, `tsconfig.${moduleResolution}.json`);
    const compilerOptions = {
      module,
      moduleResolution,
      target: "es2024",
      types: ["node"],
      strict: true,
      exactOptionalPropertyTypes: true,
      resolveJsonModule: true,
      noEmit: true,
    };
    await writeFile(config, JSON.stringify({ compilerOptions, files: ["consumer.ts"] }));
    const compiler = join(ROOT, "node_modules/typescript/bin/tsc");
    // By default, four checkers each check the shared types.
    const args = [compiler, "-p", config, "--checkers", "1"];
    const { stdout } = await run(process.execPath, args).catch(
      (error: { stdout: string }) => error,
    );
    expect(stdout).toBe("");
  });

  test("runs", async () => {
    const { stdout } = await run(process.execPath, ["consumer.ts"], { cwd: folder });
    expect(JSON.parse(stdout)).toEqual({
      embedded: 200,
      node: 200,
      worker: 200,
      ids: [200_006, 13_225],
      said: "Hi",
      version: manifest.version,
    });
  });
});

test("its command starts without undici", async () => {
  const loaded = new Map<string, string>();
  const waiting = ["main.js"];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (loaded.has(name)) continue;
    const code = await readFile(join(installed, "dist/command", name), "utf8");
    loaded.set(name, code);
    const imports = code.matchAll(/^(?:import|\} from) (?:.* from )?"\.\/([^"]+)";$/gm);
    for (const [, imported = ""] of imports) waiting.push(imported);
  }
  expect(loaded.size).toBeGreaterThan(1);
  const code = [...loaded.values()].join("\n");
  expect(code).toContain("node_modules/zod/");
  expect(code).not.toContain("node_modules/undici/");
});

test("its static assets are the files that its command serves", async () => {
  const { createAssets } = await import(join(installed, "dist/node/pages/assets.js"));
  const html: string = await createAssets().html(CHAT_PAGE);
  const named = Array.from(html.matchAll(/(?:src|href)="(app\/[^"]+)"/g), ([, path = ""]) => path);
  expect(named.length).toBeGreaterThan(3);
  const files = await readdir(join(installed, "dist/static"), { recursive: true });
  expect(files).toEqual(expect.arrayContaining(["_headers", "app/pages.json", ...named]));
});

test("its command serves", async () => {
  const command = join(installed, manifest.bin["harmony-gateway"] ?? "");
  // Without this, the start would use the tests' compile cache.
  const env = { ...process.env, NODE_COMPILE_CACHE: undefined };
  const child = spawn(process.execPath, [command, "--port", "0"], { cwd: folder, env });
  try {
    let baseUrl = "";
    for await (const line of createInterface(child.stdout)) {
      baseUrl = /"baseUrl":"([^"]+)"/.exec(line)?.[1] ?? "";
      if (baseUrl !== "") break;
    }
    const response = await fetch(`${baseUrl}/chat/completions`, {
      method: "POST",
      body: JSON.stringify({ messages: [{ role: "user", content: "Hello!" }] }),
    });
    expect(await response.json()).toMatchObject({ choices: [{ finish_reason: "stop" }] });
    // The bundle finds the files, which are not in it.
    const html = await (await fetch(new URL("/inspect", baseUrl))).text();
    const names = Array.from(html.matchAll(/(?:src|href)="([^"]+)"/g), ([, name = ""]) => name);
    const scripts = names.flatMap((name) => /[^/]+\.js$/.exec(name)?.[0] ?? []);
    expect(scripts).toEqual(["first-load.js", "app.js"]);
    const files = await Promise.all(names.map((name) => fetch(new URL(name, baseUrl))));
    expect(files.map(({ status }) => status)).toEqual(names.map(() => 200));
    // The module with the token occurs once.
    const texts = await Promise.all(files.map((file) => file.text()));
    expect(texts.filter((text) => text.includes("x-inspect-token"))).toHaveLength(1);
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
    // The compile cache for the next start.
    const compiled = await readdir(join(installed, "node_modules/.cache/harmony-gateway"));
    expect(compiled).not.toEqual([]);
  } finally {
    child.kill("SIGKILL");
  }
});

describe("gpt-oss-harmony, Harmony alone", () => {
  let alone: string;
  beforeAll(async () => {
    alone = join(folder, "alone/node_modules/gpt-oss-harmony");
    const scripts = ["pack-harmony.ts", "harmony-package", "write-sboms.ts"];
    for (const name of scripts.map((each) => `scripts/${each}`)) {
      await cp(join(ROOT, name), join(checkout, name), { recursive: true });
    }
    await run(process.execPath, ["scripts/pack-harmony.ts"], { cwd: checkout });
    await cp(join(checkout, "dist-harmony"), alone, { recursive: true });
  });

  test("has exports and types for every module resolver", async () => {
    await run("npm", ["pack", "--offline", "--pack-destination", alone], { cwd: alone });
    const packed = (await readdir(alone)).find((name) => name.endsWith(".tgz")) ?? "";
    expect(await problemsOf(join(alone, packed))).toEqual([]);
    await rm(join(alone, packed));
  });

  test("has the gateway's version and no dependencies", async () => {
    const own: unknown = JSON.parse(await readFile(join(alone, "package.json"), "utf8"));
    expect(own).toMatchObject({ name: "gpt-oss-harmony", version: manifest.version });
    expect(own).not.toHaveProperty("dependencies");
    const files = ["LICENSE", "NOTICE", "README.md", "dist", "package.json"];
    expect(await readdir(alone)).toEqual(files);
  });

  test("its list of components is empty, and the gateway's names what is bundled", async () => {
    // Without the network: the lock file has all that npm needs.
    const env = { ...process.env, npm_config_offline: "true" };
    await run(process.execPath, ["scripts/write-sboms.ts"], { cwd: checkout, env });
    const componentsOf = async (name: string) => {
      const text = await readFile(join(checkout, `sbom/${name}.cdx.json`), "utf8");
      return Sbom.parse(JSON.parse(text)).components.map(({ purl }) => purl);
    };
    expect(await componentsOf("gpt-oss-harmony")).toEqual([]);
    const notices = await readFile(join(installed, "dist/THIRD-PARTY-NOTICES"), "utf8");
    const bundled = Array.from(notices.matchAll(/^--- (\S+) (\S+)/gm), ([, name = "", version]) => {
      return `pkg:npm/${name.replace("@", "%40")}@${version}`;
    });
    expect(bundled.join(" ")).toContain("pkg:npm/zod@");
    expect(await componentsOf("harmony-gateway")).toEqual(expect.arrayContaining(bundled));
  });

  test.each(["render", "parse", "tokenizer"])("runs examples/%s.ts", async (name) => {
    const source = join(ROOT, `examples/${name}.ts`);
    const code = (await readFile(source, "utf8"))
      .replaceAll('"../src/harmony/index.ts"', '"gpt-oss-harmony"')
      .replaceAll(/"\.\.\/src\/(\w+)\/index\.ts"/g, '"gpt-oss-harmony/$1"');
    expect(code).not.toContain("../src");
    await writeFile(join(folder, `alone/${name}.ts`), code);
    const { stdout } = await run(process.execPath, [`${name}.ts`], { cwd: join(folder, "alone") });
    expect(stdout).toBe((await run(process.execPath, [source])).stdout);
  });
});
