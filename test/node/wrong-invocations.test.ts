/** Mistakes in command lines, and the messages they cause. None of them starts a gateway. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { runCommand } from "../helpers/command-io.ts";

const folder = mkdtempSync(join(tmpdir(), "wrong-invocations-"));
afterAll(() => rmSync(folder, { recursive: true }));

const FILES = {
  "bad.json": '{"port": }\n',
  "list.json": "[]",
  "typo.json": '{"prot": 1}',
  "backend.json": '{"backends": [{"engine": "vllm", "urll": "x"}]}',
  "number.json": '{"port": "eighty"}',
  "hello.txt": "hello\n",
  "request.json": '{"messages": 1}',
};
for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
mkdirSync(join(folder, "folder"));

const A = "a".repeat(64);
const B = "b".repeat(64);
const KINDS = "demo, llama, vllm, sglang, llama-cpp, trtllm, ollama, fireworks, completions, auto";
const NO_URL =
  "Add the URL of its inference server, for instance --url http://127.0.0.1:8000, or --engine llama to download it and run it in this process.";

/** `~` stands for the folder of the files above. */
const WRONG: readonly (readonly [args: string, sentence: string])[] = [
  // Flags
  ["--prot 1", "--prot: there is no such flag. Did you mean --port?"],
  ["-p 1", "-p: there is no such flag."],
  ["--no-port", "--no-port: there is no such flag. Did you mean --port?"],
  ["--port", "--port: expected a value after it."],
  ["--port x", '--port: expected a whole number from 0 to 65535, got "x".'],
  ["--port 70000", "--port: expected a whole number from 0 to 65535, got 70000."],
  ["--port=-1", "--port: expected a whole number from 0 to 65535, got -1."],
  ["--port 1 --port 2", "--port: is given twice."],
  ["--open=maybe", '--open: expected true or false, got "maybe".'],
  ["--log loud", '--log: expected one of silent, error, warn, info, debug, got "loud".'],
  ["--log-format xml", '--log-format: expected one of auto, text, json, got "xml".'],
  ["--max-body-bytes 0", "--max-body-bytes: expected a whole number, 1 or more, got 0."],
  ["--max-body-bytes 1MB", '--max-body-bytes: expected a whole number, 1 or more, got "1MB".'],
  ["--date tomorrow", '--date: expected today, none or a day such as 2026-01-31, got "tomorrow".'],
  // Commands
  ["serv", "There is no command serv. Did you mean serve?"],
  ["start", "There is no command start. Did you mean serve?"],
  ["launch", "There is no command launch. harmony-gateway --help lists the commands."],
  ["gpu:8000", "There is no command gpu:8000. For a server's address, write http://gpu:8000."],
  ["http://gpu:8000 --url http://b:8000", "--url: is given twice."],
  ["http://", 'http://: expected a URL that begins with http:// or https://, got "http://".'],
  ["http://gpu:8000 now", "now: is not a flag; settings begin with --."],
  // Engines and models
  ["--url gpu:8000", '--url: expected a URL that begins with http:// or https://, got "gpu:8000".'],
  ["--url", "--url: expected a value after it."],
  [
    "--engine vlm --url http://gpu",
    `--engine: expected one of ${KINDS}, got "vlm". Did you mean vllm?`,
  ],
  [
    "--engine completions",
    "engine completions: needs the server's url, for instance --url http://127.0.0.1:8000.",
  ],
  ["--model openai/gpt-oss-20b", `--model: nothing says where openai/gpt-oss-20b runs. ${NO_URL}`],
  [
    "--model llama3",
    "--model: nothing says where llama3 runs. Add the URL of its inference server, for instance --url http://127.0.0.1:8000.",
  ],
  ["--engine auto", `--engine: nothing says where openai/gpt-oss-20b runs. ${NO_URL}`],
  ['--backends [{"engine":"vllm"}', "--backends: expected a list."],
  [
    '--backends [{"url":"http://a"}] --model m',
    "--model: has no effect together with backends. Set it in the entries of that list.",
  ],
  // Access and secrets
  [
    "--host 0.0.0.0",
    "host 0.0.0.0: other machines could use the gateway without a key. Create a key with `harmony-gateway key`, or set --open to allow it.",
  ],
  ["--keys alice", "--keys: keys[0]: expected name:hash, as `harmony-gateway key` prints."],
  ["--keys alice:1", "--keys: keys[0].sha256: expected a SHA-256 hash in 64 hex digits."],
  [
    `--keys a:${A},b:${A}`,
    "keys: a and b have the same hash, so they are the same key. Create a separate key for each.",
  ],
  [`--keys a:${A},a:${B}`, "keys: the name a is given twice."],
  [
    "--reasoning-policy sealed",
    "reasoningPolicy sealed: requires sealingKeys. Create one with `harmony-gateway key --sealing`.",
  ],
  [
    "--sealing-keys abc",
    "--sealing-keys: sealingKeys[0]: expected 32 random bytes in base64url, as `harmony-gateway key --sealing` prints.",
  ],
  [
    "--store mysql://db",
    "--store: expected memory, sqlite:PATH, redis://HOST, postgres://HOST/DATABASE, d1:BINDING or kv:BINDING.",
  ],
  [
    "--store kv:STORE",
    "store kv: is available on Workers only. On Node, use sqlite:PATH, redis://HOST or postgres://HOST/DATABASE.",
  ],
  // The config file
  ["--config", "--config: expected a value after it."],
  ["--config ~/none.json", "--config ~/none.json: there is no such file."],
  ["--config ~/folder", "--config ~/folder: is a folder, not a file."],
  [
    "--config ~/bad.json",
    `--config ~/bad.json: is not valid JSON: Unexpected token '}', "{"port": } " is not valid JSON.`,
  ],
  ["--config ~/list.json", "--config ~/list.json: must contain a JSON object."],
  ["--config ~/typo.json", "prot in ~/typo.json: there is no such setting. Did you mean port?"],
  [
    "--config ~/number.json",
    'port in ~/number.json: expected a whole number from 0 to 65535, got "eighty".',
  ],
  [
    "--config ~/backend.json",
    "backends in ~/backend.json: backends[0]: there is no urll. Did you mean url?",
  ],
  // Other commands
  ["connect codexx", "connect: there is no client codexx. Did you mean codex?"],
  [
    "connect",
    "connect: name a client. Clients: codex, claude-code, opencode, continue, qwen-code, vscode, open-webui, python, typescript, anthropic.",
  ],
  [
    "connect codex now",
    "connect: name one client; its own arguments follow --. Clients: codex, claude-code, opencode, continue, qwen-code, vscode, open-webui, python, typescript, anthropic.",
  ],
  [
    "connect codex --gateway here",
    '--gateway: expected a URL that begins with http:// or https://, got "here".',
  ],
  ["connect codex --wirte", "--wirte: there is no such flag. Did you mean --write?"],
  [
    "connect codex --gateway http://127.0.0.1:1",
    "No gateway answers at http://127.0.0.1:1. Start it, or name another one with --gateway, for instance --gateway https://llm.example.com.",
  ],
  ["config --prot 1", "--prot: there is no such flag. Did you mean --port?"],
  ["key a b", "key: give one name for the client, not 2."],
  [
    "key a/b",
    "key: a/b is no name for a client. Use up to 64 letters, digits, dots, dashes, _ or @. For a sealing key: harmony-gateway key --sealing.",
  ],
  ["store", "store: expected stats, prune or delete after it."],
  ["store stat", "store: expected stats, prune or delete after it. Did you mean stats?"],
  [
    "store delete --store sqlite:~/state.db",
    "store delete: name the client key whose data goes, with --key <name>.",
  ],
  ["store prune --key alice", "store prune: --key belongs to store delete."],
  ["store delete --key", "--key: expected the name of a client key after it."],
  ["store delete --key --store", "--key: expected the name of a client key after it."],
  ["store stats --stor x", "--stor: there is no such flag. Did you mean --store?"],
  [
    "store stats --store redis://gpu",
    "store: only a file can be looked into. Name it: --store sqlite:state.db. " +
      "The store memory ends with its process; the others remove entries after storeTtlSeconds.",
  ],
  ["store stats --store sqlite:~/none.db", "store sqlite:~/none.db: there is no such file."],
  ["store stats --store sqlite:~/folder", "store sqlite:~/folder: is a folder. Name a file in it."],
  [
    "store stats --store sqlite:~/hello.txt",
    "store sqlite:~/hello.txt: is damaged. Move it away, together with the files that end in -wal and -shm; the gateway then begins a new one.",
  ],
  [
    "render",
    "render: name one file with a request, or - for standard input. harmony-gateway render --help says more.",
  ],
  [
    "replay",
    "replay: name one file with the record of a turn, or - for standard input. harmony-gateway replay --help says more.",
  ],
  ["replay ~/hello.txt", "~/hello.txt: is not the record of a turn."],
  ["render ~/none.json", "~/none.json: there is no such file."],
  ["render ~/request.json", "messages: must be an array, but it is 1"],
  ["render --idz x", "--idz: there is no such flag. Did you mean --ids?"],
  ["render --date", "--date: expected a value after it."],
  ["parse ~/none.txt", "~/none.txt: there is no such file."],
  ["parse a b", "parse: name one file with a completion, or - for standard input."],
  ["parse --ids ~/typo.json", "The input is JSON, but not of the form that is expected."],
  [
    "parse --ids ~/hello.txt",
    `~/hello.txt: is not valid JSON: Unexpected token 'h', "hello " is not valid JSON.`,
  ],
  [
    "render ~/bad.json",
    `~/bad.json: is not valid JSON: Unexpected token '}', "{"port": } " is not valid JSON.`,
  ],
  ["convert --from chat", "--to: expected one of openchatml, harmony, chat, ids."],
  ["convert --from chat --to idz", "--to: expected one of openchatml, harmony, chat, ids."],
  ["convert --from chat --to ids a b", "convert: name one input file, or - for standard input."],
  [
    "convert --from chat --to chat --mask all",
    "--mask: only ids have a mask. Use it with --to ids.",
  ],
  [
    "convert --from chat --to ids --max-line lots",
    "--max-line: expected a whole number, 1 or more.",
  ],
  ["convert --from chat --to ids ~/none.jsonl", "~/none.jsonl: there is no such file."],
  [
    "convert --from chat --to ids --out ~/none/x ~/hello.txt",
    "~/none/x: there is no folder ~/none.",
  ],
  ["render ~/none/x.json", "~/none/x.json: there is no folder ~/none."],
];

test("there are at least forty wrong invocations", () => {
  expect(WRONG.length).toBeGreaterThanOrEqual(40);
});

test.each(WRONG)("%s", async (line, sentence) => {
  const args = line.split(" ").map((arg) => arg.replace("~/", `${folder}/`));
  expect(await runCommand(args)).toEqual({
    printed: "",
    errors: sentence.replaceAll("~/", `${folder}/`),
    code: 2,
  });
});

test.each([
  ["HARMONY_GATEWAY_PORT", "x", 'expected a whole number from 0 to 65535, got "x".'],
  ["HARMONY_GATEWAY_URL", "gpu", 'expected a URL that begins with http:// or https://, got "gpu".'],
])("the variable %s=%s", async (name, value, problem) => {
  const { errors } = await runCommand([], { environment: { [name]: value } });
  expect(errors).toBe(`${name}: ${problem}`);
});

test("a config file that a variable names", async () => {
  const path = join(folder, "none.json");
  const { errors } = await runCommand([], { environment: { HARMONY_GATEWAY_CONFIG: path } });
  expect(errors).toBe(`HARMONY_GATEWAY_CONFIG ${path}: there is no such file.`);
});
