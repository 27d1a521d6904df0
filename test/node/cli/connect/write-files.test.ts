/** `connect --write` and `--undo`: the files of six clients in a temporary home folder. */
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
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { parse as parseYaml } from "yaml";
import { runCommand } from "../../../helpers/command-io.ts";

const sizes = { context_length: 131_072 };
const MODELS = [
  { ...sizes, id: "openai/gpt-oss-20b" },
  { ...sizes, id: "review", canonical_slug: "openai/gpt-oss-20b" },
];

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "home-"));
  vi.stubGlobal("fetch", async () => Response.json({ data: MODELS }));
  onTestFinished(() => {
    vi.unstubAllGlobals();
    rmSync(home, { recursive: true });
  });
});

const read = (path: string) => readFileSync(join(home, path), "utf8");

function put(path: string, text: string): void {
  mkdirSync(dirname(join(home, path)), { recursive: true });
  writeFileSync(join(home, path), text);
}

/** Returns the printed text, or the text of the error. */
async function connect(name: string, ...flags: string[]): Promise<string> {
  const { printed, errors } = await runCommand(["connect", name, ...flags], { home });
  return printed + errors;
}

const write = (name: string, origin = "http://gateway:8787", ...flags: string[]) =>
  connect(name, "--write", "--gateway", origin, ...flags);
const undo = (name: string) => connect(name, "--undo");
const undoFor = (name: string) => runCommand(["connect", name, "--undo"], { home });

const SETTINGS = process.platform === "darwin" ? "Library/Application Support" : ".config";
const PATHS = {
  codex: ".codex/config.toml",
  "claude-code": ".claude/settings.json",
  opencode: ".config/opencode/opencode.json",
  continue: ".continue/config.yaml",
  "qwen-code": ".qwen/settings.json",
  vscode: `${SETTINGS}/Code/User/chatLanguageModels.json`,
};

/** For each client, a file that a user may have. */
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

const CLIENTS = ["codex", "claude-code", "opencode", "continue", "qwen-code", "vscode"] as const;

describe.each(CLIENTS)("%s", (name) => {
  const [path, existing] = [PATHS[name], EXISTING[name]];

  test("a file that exists keeps the rest, is written once, and is restored", async () => {
    put(path, existing);
    const shown = await write(name);
    const written = read(path);
    expect(written).toContain("http://gateway:8787");
    expect(shown).toContain(`~/${path}: changed.`);
    // Each line is either the user's or shown as added.
    for (const line of written.trimEnd().split("\n")) {
      if (existing.split("\n").includes(line)) continue;
      expect(shown.split("\n")).toContain(`+ ${line}`);
    }
    expect(await write(name)).toMatch(/: has these settings already\.$/m);

    await write(name, "https://other.example.com");
    expect(read(path)).toBe(written.replaceAll("http://gateway:8787", "https://other.example.com"));
    expect(await undo(name)).toContain(`~/${path}: restored.`);
    expect(read(path)).toBe(existing);
  });

  test("a file that does not exist is the user's alone, and removed again", async () => {
    expect(await write(name)).toContain(`~/${path}: written.`);
    expect(statSync(join(home, path)).mode & 0o777).toBe(0o600);
    expect(await undo(name)).toContain(`~/${path}: removed.`);
    expect(existsSync(join(home, path))).toBe(false);
    expect(await undo(name)).toContain("There is nothing to undo");
  });
});

test("the clients' files have the settings, and the rest as it was", async () => {
  for (const name of CLIENTS) {
    put(PATHS[name], EXISTING[name]);
    await write(name, "http://gateway:8787", "--key", "secret");
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
  const [azure, ours] = JSON.parse(read(PATHS.vscode));
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

test("opencode's other file is used where it exists", async () => {
  put(".config/opencode/opencode.jsonc", "{\n  // mine\n}\n");
  await write("opencode");
  expect(read(".config/opencode/opencode.jsonc")).toMatch(
    /\/\/ mine\n {2}"\$schema": .*\n {2}"model": "gateway/,
  );
  expect(existsSync(join(home, ".config/opencode/opencode.json"))).toBe(false);
});

test("a file in a form that cannot be edited stays, and so do the others; the text to paste is in the message", async () => {
  const text = 'model_providers = { mine = { name = "x" } }\n';
  put(".codex/config.toml", text);
  expect(await write("codex")).toMatch(
    /^~\/\.codex\/config\.toml cannot be changed safely: it writes model_providers in a form of its own\. Nothing was written\. Put this into it by hand:\n\nmodel = "openai/,
  );
  expect(read(".codex/config.toml")).toBe(text);
  expect(existsSync(join(home, ".codex/gpt-oss.json"))).toBe(false);
  expect(await undo("codex")).toContain("There is nothing to undo");
});

test.each([
  ["is no text", Buffer.from([0x7b, 0xff, 0x7d]), ": is not text in UTF-8. Nothing was written."],
  ["is too large", "x".repeat(1_000_001), ": is larger than 1 MB. Nothing was written."],
])("a file that %s is refused", async (_, content, message) => {
  mkdirSync(join(home, ".qwen"));
  writeFileSync(join(home, ".qwen/settings.json"), content);
  expect(await write("qwen-code")).toBe(`~/.qwen/settings.json${message}`);
});

test.skipIf(process.platform === "win32").each([
  ["a FIFO", (path: string) => void execFileSync("mkfifo", [path]), "is not an ordinary file."],
  [
    "a link to a device",
    (path: string) => symlinkSync("/dev/zero", path),
    "is not an ordinary file.",
  ],
  ["a folder", (path: string) => mkdirSync(path), "is a folder, not a file."],
])("%s is refused (skipped on Windows, which has none)", async (_, make, reason) => {
  mkdirSync(join(home, ".qwen"));
  make(join(home, ".qwen/settings.json"));
  expect(await write("qwen-code")).toBe(`~/.qwen/settings.json: ${reason} Nothing was written.`);
});

test("a record of changes that cannot be read is not overwritten", async () => {
  await write("codex");
  const record = ".config/harmony-gateway/connect-codex.json";
  put(record, "{");
  for (const change of [() => write("codex", "http://other:8787"), () => undo("codex")]) {
    expect(await change()).toBe(
      `~/${record}: cannot be read, so a change could not be undone. Move it away.`,
    );
  }
  expect(read(record)).toBe("{");
});

test("changes of a client or the user since, in other lines, stay", async () => {
  put(PATHS.codex, EXISTING.codex);
  await write("codex");
  // Codex remembers the folders that it may work in.
  const trusted = '\n[projects."/srv/app"]\ntrust_level = "trusted"\n';
  put(PATHS.codex, `# New\n${read(PATHS.codex)}${trusted}`);
  expect(await undo("codex")).toContain(
    "~/.codex/config.toml: restored, but for what was changed since.",
  );
  expect(read(PATHS.codex)).toBe(`# New\n${EXISTING.codex}${trusted}`);
});

test("a neighbour in the same line stays, and ours goes", async () => {
  put(".claude/settings.json", '{ "theme": "dark" }');
  await write("claude-code");
  put(".claude/settings.json", read(".claude/settings.json").replace("dark", "light"));
  expect(await undoFor("claude-code")).toEqual({
    printed: "~/.claude/settings.json: restored, but for what was changed since.",
    errors: "",
    code: 0,
  });
  expect(JSON.parse(read(".claude/settings.json"))).toEqual({ theme: "light" });
  expect(existsSync(join(home, ".config/harmony-gateway/connect-claude-code.json"))).toBe(false);
});

test("a variable of the user's between ours stays, and ours go", async () => {
  const mine = '{\n  // mine\n  "env": {\n    "EDITOR": "vi"\n  }\n}\n';
  put(".claude/settings.json", mine);
  await write("claude-code");
  const edited = read(".claude/settings.json")
    .replace('"vi"', '"emacs"')
    .replace(/("ANTHROPIC_BASE_URL": [^\n]*)\n/, '$1\n    "PAGER": "less",\n');
  put(".claude/settings.json", edited);
  expect((await undoFor("claude-code")).code).toBe(0);
  expect(read(".claude/settings.json")).toBe(
    '{\n  // mine\n  "env": {\n    "EDITOR": "emacs",\n    "PAGER": "less"\n  }\n}\n',
  );
});

test("a value of ours that was changed since stays, is named, and the text of before is kept", async () => {
  put(".claude/settings.json", '{ "theme": "dark" }');
  await write("claude-code");
  const edited = read(".claude/settings.json").replace(
    /("ANTHROPIC_BASE_URL": )"[^"]*"/,
    '$1"http://mine"',
  );
  put(".claude/settings.json", edited);
  const left = {
    printed:
      "~/.claude/settings.json: restored, except env.ANTHROPIC_BASE_URL, changed after --write as well. ~/.config/harmony-gateway/connect-claude-code.json has its text of before.",
    errors: "",
    code: 1,
  };
  for (let times = 0; times < 2; times++) {
    expect(await undoFor("claude-code")).toEqual(left);
    expect(JSON.parse(read(".claude/settings.json"))).toEqual({
      theme: "dark",
      env: { ANTHROPIC_BASE_URL: "http://mine" },
    });
  }
  expect(read(".config/harmony-gateway/connect-claude-code.json")).toContain("dark");
});

test("a file that the user has put back is done", async () => {
  put(".claude/settings.json", '{ "theme": "dark" }');
  await write("claude-code");
  put(".claude/settings.json", '{ "theme": "dark" }');
  expect(await undoFor("claude-code")).toEqual({
    printed: "~/.claude/settings.json: is as it was.",
    errors: "",
    code: 0,
  });
});

test("a file that is no JSON any more stays as it is", async () => {
  put(".claude/settings.json", '{ "theme": "dark" }');
  await write("claude-code");
  put(".claude/settings.json", `${read(".claude/settings.json").replace("dark", "light")}}`);
  expect(await undoFor("claude-code")).toEqual({
    printed:
      "~/.claude/settings.json: the same lines were changed after --write, so it stays as it is. ~/.config/harmony-gateway/connect-claude-code.json has its text of before.",
    errors: "",
    code: 1,
  });
});

test("a member behind text whose removal would leave no JSON is kept", async () => {
  // The last line of the file is also the last line of the addition.
  put(".claude/settings.json", "{\n  }\n");
  await write("claude-code");
  put(
    ".claude/settings.json",
    read(".claude/settings.json").replace(/\n {2}\}\n\}\n$/, '\n  },\n  "theme": "dark"\n}\n'),
  );
  expect(await undo("claude-code")).toContain("restored, but for what was changed since.");
  expect(JSON.parse(read(".claude/settings.json"))).toEqual({ theme: "dark" });
});

test("a link to a file elsewhere stays a link, and the file keeps its mode", async () => {
  put("dotfiles/config.toml", 'model = "x"\n');
  mkdirSync(join(home, ".codex"));
  symlinkSync(join(home, "dotfiles/config.toml"), join(home, ".codex/config.toml"));
  chmodSync(join(home, "dotfiles/config.toml"), 0o664);
  const { mode } = statSync(join(home, "dotfiles/config.toml"));
  await write("codex");
  expect(lstatSync(join(home, ".codex/config.toml")).isSymbolicLink()).toBe(true);
  expect(statSync(join(home, "dotfiles/config.toml")).mode).toBe(mode);
  expect(read("dotfiles/config.toml")).toContain("model_providers.harmony-gateway");
  await undo("codex");
  expect(read("dotfiles/config.toml")).toBe('model = "x"\n');
});

test("a file is replaced as a whole: a program that is reading it gets the previous text", async () => {
  put(PATHS.codex, EXISTING.codex);
  const opened = openSync(join(home, PATHS.codex), "r");
  onTestFinished(() => closeSync(opened));
  await write("codex");
  expect(readFileSync(opened, "utf8")).toBe(EXISTING.codex);
  expect(readdirSync(join(home, ".codex")).toSorted()).toEqual(["config.toml", "gpt-oss.json"]);
});

test.skipIf(process.getuid?.() === 0)(
  "a read-only file stays (skipped for root, which may write anything)",
  async () => {
    put(PATHS.codex, EXISTING.codex);
    chmodSync(join(home, PATHS.codex), 0o444);
    expect(await write("codex")).toMatch(/: this user may not read or write it\.$/);
    expect(read(PATHS.codex)).toBe(EXISTING.codex);
  },
);

test("a file that was removed since is restored from the file for an undo", async () => {
  put(PATHS["qwen-code"], EXISTING["qwen-code"]);
  await write("qwen-code");
  rmSync(join(home, ".qwen"), { recursive: true });
  expect(await undo("qwen-code")).toBe("~/.qwen/settings.json: restored.");
  expect(read(PATHS["qwen-code"])).toBe(EXISTING["qwen-code"]);
});

test("the file for an undo is the user's alone", async () => {
  await write("codex");
  const { mode } = statSync(join(home, ".config/harmony-gateway/connect-codex.json"));
  expect(mode & 0o777).toBe(0o600);
});
