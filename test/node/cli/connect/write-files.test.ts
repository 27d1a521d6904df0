/** The files of six clients in a home folder of their own: written, changed, restored. */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  closeSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { CLIENTS } from "../../../../src/node/cli/connect/clients.ts";
import type { Target } from "../../../../src/node/cli/connect/target.ts";
import { undoFiles, writeFiles } from "../../../../src/node/cli/connect/write-files.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "home-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
});

const read = (path: string) => readFileSync(join(home, path), "utf8");

function put(path: string, text: string): void {
  mkdirSync(dirname(join(home, path)), { recursive: true });
  writeFileSync(join(home, path), text);
}

function targetAt(origin: string, key?: string): Target {
  const sizes = { contextLength: 131_072, maxOutputTokens: 32_768 };
  const review = { ...sizes, id: "review", isPreset: true };
  return { origin, key, models: [{ ...sizes, id: "openai/gpt-oss-20b", isPreset: false }, review] };
}

function write(name: string, target = targetAt("http://gateway:8787")): string {
  const { title, settings } = clientOf(name);
  return writeFiles(settings(target).files, { name, title, home });
}

const undoFor = (name: string) => undoFiles({ name, title: clientOf(name).title, home });
const undo = (name: string) => undoFor(name).text;

function clientOf(name: string) {
  const client = CLIENTS[name];
  if (client === undefined) throw new Error(`no client ${name}`);
  return client;
}

const pathOf = (name: string) =>
  clientOf(name).settings(targetAt("http://x")).files?.[0]?.path ?? "";

/** For each client: a file that a user may have, and what must still be in it. */
const EXISTING = {
  codex:
    '# My Codex\nmodel = "gpt-5"\napproval_policy = "never"\n\n[mcp_servers.files]\ncommand = "npx"\n',
  "claude-code":
    '{\n  "permissions": { "allow": ["Bash(ls)"] },\n  "env": {\n    "MINE": "1",\n    "ANTHROPIC_MODEL": "opus"\n  }\n}\n',
  opencode:
    '{\n  // my theme\n  "theme": "dark",\n  "model": "anthropic/claude",\n  "provider": { "own": { "name": "Own" } }\n}\n',
  continue:
    "name: Mine\nmodels:\n  - name: Other\n    provider: ollama\nrules:\n  - Be brief # always\n",
  "qwen-code":
    '{\n  "ui": { "theme": "Ayu" },\n  "security": { "folderTrust": { "enabled": true } },\n  "model": { "name": "qwen3", "maxSessionTurns": 5 }\n}\n',
  vscode: '[\n  {\n    "name": "Azure",\n    "vendor": "azure"\n  }\n]\n',
} as const;

describe.each(Object.entries(EXISTING))("%s", (name, existing) => {
  test("a file that exists keeps the rest, is written once, and is restored", () => {
    put(pathOf(name), existing);
    const shown = write(name);
    const written = read(pathOf(name));
    expect(written).toContain("http://gateway:8787");
    expect(shown).toContain(`~/${pathOf(name)}: changed.`);
    // Each line is either the user's or shown as added.
    for (const line of written.trimEnd().split("\n")) {
      if (existing.split("\n").includes(line)) continue;
      expect(shown.split("\n")).toContain(`+ ${line}`);
    }
    expect(write(name)).toMatch(/: has these settings already\.$/m);

    write(name, targetAt("https://other.example.com"));
    expect(read(pathOf(name))).toBe(
      written.replaceAll("http://gateway:8787", "https://other.example.com"),
    );
    expect(undo(name)).toContain(`~/${pathOf(name)}: restored.`);
    expect(read(pathOf(name))).toBe(existing);
  });

  test("a file that does not exist is the user's alone, and removed again", () => {
    expect(write(name)).toContain(`~/${pathOf(name)}: written.`);
    expect(statSync(join(home, pathOf(name))).mode & 0o777).toBe(0o600);
    expect(undo(name)).toContain(`~/${pathOf(name)}: removed.`);
    expect(existsSync(join(home, pathOf(name)))).toBe(false);
    expect(() => undo(name)).toThrow("There is nothing to undo");
  });
});

test("what the clients' files contain afterwards", () => {
  for (const [name, text] of Object.entries(EXISTING)) {
    put(pathOf(name), text);
    write(name, targetAt("http://gateway:8787", "secret"));
  }
  expect(read(".codex/config.toml")).toBe(`\
# My Codex
model = "openai/gpt-oss-20b"
approval_policy = "never"
model_provider = "harmony-gateway"
model_catalog_json = "~/.codex/gpt-oss.json"
show_raw_agent_reasoning = true

[mcp_servers.files]
command = "npx"

[model_providers.harmony-gateway]
name = "harmony-gateway"
base_url = "http://gateway:8787/v1"
wire_api = "responses"
env_key = "HARMONY_GATEWAY_KEY"
`);
  expect(JSON.parse(read(".claude/settings.json"))).toMatchObject({
    permissions: { allow: ["Bash(ls)"] },
    env: { MINE: "1", ANTHROPIC_MODEL: "openai/gpt-oss-20b", ANTHROPIC_AUTH_TOKEN: "secret" },
  });
  expect(read(".config/opencode/opencode.json")).toContain("// my theme");
  expect(parseYaml(read(".continue/config.yaml"))).toMatchObject({
    name: "Mine",
    models: [{ name: "openai/gpt-oss-20b" }, { name: "review" }, { name: "Other" }],
    rules: ["Be brief"],
  });
  expect(JSON.parse(read(".qwen/settings.json"))).toEqual({
    ui: { theme: "Ayu" },
    security: {
      folderTrust: { enabled: true },
      auth: { selectedType: "openai", apiKey: "secret", baseUrl: "http://gateway:8787/v1" },
    },
    model: { name: "openai/gpt-oss-20b", maxSessionTurns: 5 },
  });
  const [azure, ours] = JSON.parse(read(pathOf("vscode")));
  expect(azure).toEqual({ name: "Azure", vendor: "azure" });
  expect(ours).toMatchObject({
    vendor: "customendpoint",
    // VS Code keeps the key itself.
    apiKey: "${input:harmonyGatewayKey}",
    models: [
      { id: "openai/gpt-oss-20b", maxInputTokens: 98_304, maxOutputTokens: 32_768 },
      { id: "review" },
    ],
  });
});

test("opencode's other file is used where it exists", () => {
  put(".config/opencode/opencode.jsonc", "{\n  // mine\n}\n");
  write("opencode");
  expect(read(".config/opencode/opencode.jsonc")).toMatch(
    /\/\/ mine\n {2}"\$schema": .*\n {2}"model": "gateway/,
  );
  expect(existsSync(join(home, ".config/opencode/opencode.json"))).toBe(false);
});

test("a file in a form that cannot be edited stays, and so do the others; the text to paste is in the message", () => {
  const text = 'model_providers = { mine = { name = "x" } }\n';
  put(".codex/config.toml", text);
  expect(() => write("codex")).toThrow(
    /^~\/\.codex\/config\.toml cannot be changed safely: it writes model_providers in a form of its own\. Nothing was written\. Put this into it by hand:\n\nmodel = "openai/,
  );
  expect(read(".codex/config.toml")).toBe(text);
  expect(existsSync(join(home, ".codex/gpt-oss.json"))).toBe(false);
  expect(() => undo("codex")).toThrow("There is nothing to undo");
});

test.each([
  ["is no text", Buffer.from([0x7b, 0xff, 0x7d]), ": is not text in UTF-8. Nothing was written."],
  ["is too large", "x".repeat(1_000_001), ": is larger than 1 MB. Nothing was written."],
])("a file that %s is refused", (_, content, message) => {
  mkdirSync(join(home, ".qwen"));
  writeFileSync(join(home, ".qwen/settings.json"), content);
  expect(() => write("qwen-code")).toThrow(new TypeError(`~/.qwen/settings.json${message}`));
});

test.skipIf(process.platform === "win32").each([
  ["a FIFO", (path: string) => void execFileSync("mkfifo", [path]), "is not an ordinary file."],
  [
    "a link to a device",
    (path: string) => symlinkSync("/dev/zero", path),
    "is not an ordinary file.",
  ],
  ["a folder", (path: string) => mkdirSync(path), "is a folder, not a file."],
])("%s is refused (skipped on Windows, which has none)", (_, make, reason) => {
  mkdirSync(join(home, ".qwen"));
  make(join(home, ".qwen/settings.json"));
  expect(() => write("qwen-code")).toThrow(
    new TypeError(`~/.qwen/settings.json: ${reason} Nothing was written.`),
  );
});

test("a record of changes that cannot be read is not overwritten", () => {
  write("codex");
  const record = ".config/harmony-gateway/connect-codex.json";
  put(record, "{");
  const other = targetAt("http://other:8787");
  for (const change of [() => write("codex", other), () => undo("codex")]) {
    expect(change).toThrow(
      new TypeError(`~/${record}: cannot be read, so a change could not be undone. Move it away.`),
    );
  }
  expect(read(record)).toBe("{");
});

test("what a client or the user has changed since, in other lines, stays", () => {
  put(pathOf("codex"), EXISTING.codex);
  write("codex");
  // Codex remembers the folders that it may work in.
  const trusted = '\n[projects."/srv/app"]\ntrust_level = "trusted"\n';
  put(pathOf("codex"), `# New\n${read(pathOf("codex"))}${trusted}`);
  expect(undo("codex")).toContain(
    "~/.codex/config.toml: restored, but for what was changed since.",
  );
  expect(read(pathOf("codex"))).toBe(`# New\n${EXISTING.codex}${trusted}`);
});

test("a neighbour in the same line stays, and ours goes", () => {
  put(".claude/settings.json", '{ "theme": "dark" }');
  write("claude-code");
  put(".claude/settings.json", read(".claude/settings.json").replace("dark", "light"));
  expect(undoFor("claude-code")).toEqual({
    text: "~/.claude/settings.json: restored, but for what was changed since.",
    isComplete: true,
  });
  expect(JSON.parse(read(".claude/settings.json"))).toEqual({ theme: "light" });
  expect(existsSync(join(home, ".config/harmony-gateway/connect-claude-code.json"))).toBe(false);
});

test("a variable of the user's between ours stays, and ours go", () => {
  const mine = '{\n  // mine\n  "env": {\n    "EDITOR": "vi"\n  }\n}\n';
  put(".claude/settings.json", mine);
  write("claude-code");
  const edited = read(".claude/settings.json")
    .replace('"vi"', '"emacs"')
    .replace(/("ANTHROPIC_BASE_URL": [^\n]*)\n/, '$1\n    "PAGER": "less",\n');
  put(".claude/settings.json", edited);
  expect(undoFor("claude-code").isComplete).toBe(true);
  expect(read(".claude/settings.json")).toBe(
    '{\n  // mine\n  "env": {\n    "EDITOR": "emacs",\n    "PAGER": "less"\n  }\n}\n',
  );
});

test("a value of ours that was changed since stays, is named, and the text of before is kept", () => {
  put(".claude/settings.json", '{ "theme": "dark" }');
  write("claude-code");
  const edited = read(".claude/settings.json").replace(
    /("ANTHROPIC_BASE_URL": )"[^"]*"/,
    '$1"http://mine"',
  );
  put(".claude/settings.json", edited);
  const left = {
    text: "~/.claude/settings.json: restored, except env.ANTHROPIC_BASE_URL, changed after --write as well. ~/.config/harmony-gateway/connect-claude-code.json has its text of before.",
    isComplete: false,
  };
  for (let times = 0; times < 2; times++) {
    expect(undoFor("claude-code")).toEqual(left);
    expect(JSON.parse(read(".claude/settings.json"))).toEqual({
      theme: "dark",
      env: { ANTHROPIC_BASE_URL: "http://mine" },
    });
  }
  expect(read(".config/harmony-gateway/connect-claude-code.json")).toContain("dark");
});

test("a file that the user has put back is done", () => {
  put(".claude/settings.json", '{ "theme": "dark" }');
  write("claude-code");
  put(".claude/settings.json", '{ "theme": "dark" }');
  expect(undoFor("claude-code")).toEqual({
    text: "~/.claude/settings.json: is as it was.",
    isComplete: true,
  });
});

test("a file that is no JSON any more stays as it is", () => {
  put(".claude/settings.json", '{ "theme": "dark" }');
  write("claude-code");
  put(".claude/settings.json", `${read(".claude/settings.json").replace("dark", "light")}}`);
  expect(undoFor("claude-code")).toEqual({
    text: "~/.claude/settings.json: the same lines were changed after --write, so it stays as it is. ~/.config/harmony-gateway/connect-claude-code.json has its text of before.",
    isComplete: false,
  });
});

test("a member behind what would leave no JSON behind is kept", () => {
  // Its last line is also the last one of what is added.
  put(".claude/settings.json", "{\n  }\n");
  write("claude-code");
  put(
    ".claude/settings.json",
    read(".claude/settings.json").replace(/\n {2}\}\n\}\n$/, '\n  },\n  "theme": "dark"\n}\n'),
  );
  expect(undo("claude-code")).toContain("restored, but for what was changed since.");
  expect(JSON.parse(read(".claude/settings.json"))).toEqual({ theme: "dark" });
});

test("a link to a file elsewhere stays a link, and the file keeps its mode", () => {
  put("dotfiles/config.toml", 'model = "x"\n');
  mkdirSync(join(home, ".codex"));
  symlinkSync(join(home, "dotfiles/config.toml"), join(home, ".codex/config.toml"));
  chmodSync(join(home, "dotfiles/config.toml"), 0o664);
  const { mode } = statSync(join(home, "dotfiles/config.toml"));
  write("codex");
  expect(lstatSync(join(home, ".codex/config.toml")).isSymbolicLink()).toBe(true);
  expect(statSync(join(home, "dotfiles/config.toml")).mode).toBe(mode);
  expect(read("dotfiles/config.toml")).toContain("model_providers.harmony-gateway");
  undo("codex");
  expect(read("dotfiles/config.toml")).toBe('model = "x"\n');
});

test("a file is replaced as a whole: a program that reads it meanwhile gets the text of before", () => {
  put(pathOf("codex"), EXISTING.codex);
  const opened = openSync(join(home, pathOf("codex")), "r");
  onTestFinished(() => closeSync(opened));
  write("codex");
  expect(readFileSync(opened, "utf8")).toBe(EXISTING.codex);
  expect(readdirSync(join(home, ".codex")).toSorted()).toEqual(["config.toml", "gpt-oss.json"]);
});

test.skipIf(process.getuid?.() === 0)(
  "a read-only file stays (skipped for root, which may write anything)",
  () => {
    put(pathOf("codex"), EXISTING.codex);
    chmodSync(join(home, pathOf("codex")), 0o444);
    expect(() => write("codex")).toThrow(expect.objectContaining({ code: "EACCES" }));
    expect(read(pathOf("codex"))).toBe(EXISTING.codex);
  },
);

test("a file that was removed since is restored from what was kept", () => {
  put(pathOf("qwen-code"), EXISTING["qwen-code"]);
  write("qwen-code");
  rmSync(join(home, ".qwen"), { recursive: true });
  expect(undo("qwen-code")).toBe("~/.qwen/settings.json: restored.");
  expect(read(pathOf("qwen-code"))).toBe(EXISTING["qwen-code"]);
});

test("what is kept for an undo is the user's alone", () => {
  write("codex");
  const { mode } = statSync(join(home, ".config/harmony-gateway/connect-codex.json"));
  expect(mode & 0o777).toBe(0o600);
});
