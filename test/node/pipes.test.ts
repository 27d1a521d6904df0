/** Commands between pipes: slow and endless input, readers that leave, full disks. */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { visible } from "../../src/node/cli/control-signs.ts";
import { runCommand } from "../helpers/command-io.ts";
import { gatewayCommand } from "../helpers/gateway-command.ts";

const folder = mkdtempSync(join(tmpdir(), "harmony-gateway-pipes-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs a line of shell in the folder, in which `gateway` is the command. Its exit code is printed to stderr. */
async function shell(line: string) {
  const { script, env } = await gatewayCommand();
  const prelude = `gateway() { "${process.execPath}" "${script}" "$@"; echo "code $?" >&2; }\n`;
  return new Promise<{ stdout: string; stderr: string }>((resolve) => {
    const options = { cwd: folder, env, maxBuffer: 1e8 };
    execFile("sh", ["-c", prelude + line], options, (_, stdout, stderr) =>
      resolve({ stdout, stderr }),
    );
  });
}

function fileOf(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return name;
}

const request = fileOf("request.json", '{"messages":[{"role":"user","content":"hi"}]}');
const answer = fileOf("answer.txt", "<|channel|>final<|message|>hi<|return|>");
const chat = fileOf("chat.jsonl", '{"messages":[{"role":"user","content":"q"}]}\n'.repeat(3));
const many = fileOf("many.jsonl", readFileSync(join(folder, chat), "utf8").repeat(2000));
const long = fileOf("long.txt", `<|channel|>final<|message|>${"many words ".repeat(100_000)}`);

describe("S21: input that arrives late is read", () => {
  test.each([
    ["render", `gateway render -`, request, "<|message|>hi<|end|>"],
    ["parse", "gateway parse - --no-color", answer, "content\nhi\n"],
    ["convert", "gateway convert - --from chat --to harmony", chat, '{"text":"<|start|>'],
  ])("%s", async (_, command, file, expected) => {
    const { stdout, stderr } = await shell(`(sleep 1; cat ${file}) | ${command}`);
    expect(stdout).toContain(expected);
    expect(stderr).toMatch(/(?:^|\n)code 0\n$/);
  });

  test("replay", async () => {
    expect((await shell(`(sleep 1; cat ${request}) | gateway replay -`)).stderr).toBe(
      "-: is not the record of a turn.\ncode 2\n",
    );
  });
});

describe("S29: one sentence, or none", () => {
  test.each([
    ["parse", `gateway parse ${long}`],
    ["convert", `gateway convert ${many} --from chat --to harmony`],
  ])("%s into a reader that leaves ends quietly", async (_, command) => {
    expect((await shell(`${command} | head -c 1`)).stderr).toBe("code 0\n");
  });

  test.runIf(process.platform === "linux").each([
    ["render", `gateway render ${request} > /dev/full`, "The output"],
    ["parse", `gateway parse ${answer} > /dev/full`, "The output"],
    ["key", "gateway key > /dev/full", "The output"],
    ["convert", `gateway convert ${chat} --from chat --to ids > /dev/full`, "The output"],
    ["convert", `gateway convert ${chat} --from chat --to ids --out /dev/full`, "/dev/full"],
  ])("%s to a full disk", async (_, command, file) => {
    const { stderr } = await shell(command);
    expect(stderr).toMatch(/(?:^|\n)code 2\n$/);
    expect(stderr).toContain(`${file}: there is no space left to write it.\n`);
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  test.each(["parse", "render", "replay"])("%s of endless input", async (command) => {
    const { stderr } = await shell(`yes | gateway ${command} -`);
    expect(stderr).toBe("The input: is larger than 128 MB.\ncode 2\n");
  });

  test("all of a long output arrives, in a file and in a pipe", async () => {
    await shell(`gateway parse ${long} > whole.txt`);
    const { stdout } = await shell(`gateway parse ${long} | cat`);
    expect(stdout).toContain("finish stop");
    expect(readFileSync(join(folder, "whole.txt"), "utf8")).toBe(stdout);
  });
});

describe("S26: convert refuses the file that it reads", () => {
  test.each([
    [
      `gateway convert - --from chat --to ids --out ${chat} < ${chat}`,
      `--out ${chat}: is the same file as the input.`,
    ],
    [
      `gateway convert ${chat} --from chat --to ids >> ${chat}`,
      "The standard output: is the input itself.",
    ],
  ])("%s", async (command, sentence) => {
    const before = readFileSync(join(folder, chat), "utf8");
    expect((await shell(command)).stderr).toBe(`${sentence}\ncode 2\n`);
    expect(readFileSync(join(folder, chat), "utf8")).toBe(before);
  });
});

describe("control characters that a terminal would obey are spelled", () => {
  test.each([
    ["a window title", "\u001B]0;x\u0007", String.raw`\u001b]0;x\u0007`],
    ["C1", "\u009B2J\u009D", String.raw`\u009b2J\u009d`],
    ["marks of direction", "a\u202Eb\u2066c\u200F", String.raw`a\u202eb\u2066c\u200f`],
    ["separators", "a\u2028b\r", String.raw`a\u2028b\u000d`],
    ["colours", "\u001B[8m", String.raw`\u001b[8m`],
    ["tabs and lines are not", "a\tb\nc", "a\tb\nc"],
  ])("%s", (_, text, expected) => {
    expect(visible(text)).toBe(expected);
  });

  test("colours of the command's own are kept", () => {
    expect(visible("\u001B[1mx\u001B[22m\u001B[2J", { keepsColours: true })).toBe(
      "\u001B[1mx\u001B[22m\\u001b[2J",
    );
  });

  test("S29: parse with colours spells control characters of the model", async () => {
    const file = fileOf("osc.txt", "<|channel|>final<|message|>\u001B]0;x\u0007\u001B[8m\u202E");
    expect((await runCommand(["parse", join(folder, file), "--color"])).printed).toContain(
      String.raw`\u001b]0;x\u0007\u001b[8m\u202e`,
    );
  });
});
