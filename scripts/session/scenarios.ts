/** The scenarios of `docs/evidence/first-hour.md`, in the order of the page. */
import { createHash } from "node:crypto";
import manifest from "../../package.json" with { type: "json" };
import { SHOWN_HASH, SHOWN_KEY } from "./made-key.ts";
import { FIRST_HOUR, type Picture } from "./pictures.ts";

const TARBALL = `harmony-gateway-${manifest.version}.tgz`;

export interface Scenario {
  readonly title: string;
  /** Text before the recording. */
  readonly text?: string;
  /** The working directory. Default: an empty folder. */
  readonly folder?: "clone" | "app";
  /** Existing files, by name. */
  readonly files?: Readonly<Record<string, string>>;
  /** nginx with TLS stands before the gateway, at {@link PROXY}, and cuts the path off. */
  readonly isBehindProxy?: boolean;
  /** Commands that run to their end before the gateway is started. */
  readonly before?: readonly string[];
  /** Starts the gateway. */
  readonly serve?: string;
  /** Text that is printed when the gateway is ready. */
  readonly until?: RegExp;
  /** Commands typed in another terminal, while the gateway serves. */
  readonly asked?: readonly string[];
  /** The page says how soon the first answer was there. */
  readonly isTimed?: boolean;
  /** Pictures taken in a browser after these commands, while the gateway serves. */
  readonly pictures?: readonly Picture[];
  /** Slow, downloads something or depends on time: not recorded again when the page is checked. */
  readonly isSlow?: boolean;
}

/** The address of nginx on the page. */
export const PROXY = "https://llm.example.com";
const TEAM = `${PROXY}/team`;

const CHAT = "http://127.0.0.1:8787/v1/chat/completions";
const HELLO = '{"messages":[{"role":"user","content":"Hello!"}]}';
const ASK = `curl -s ${CHAT} -d '${HELLO}'`;
const STARTED = /^\d\d:\d\d:\d\d {2}✓/m;
/** Starts an example of `examples/embed`, sends a request and ends it. */
function embed(start: string, path: string): string {
  const ask = `curl -s http://127.0.0.1:3000${path}/v1/chat/completions -d '${HELLO}'`;
  return `PORT=3000 ${start} & sleep 5; ${ask}; kill $!`;
}

/** A file of a user. */
const CODEX_SETTINGS = `# My Codex
model = "gpt-5"

[tui]
notifications = true
`;

/** Names of unused keys, made by `harmony-gateway key`. */
const NAMES = ["alice", "bob", "carol"];
const toKey = (name: string) => `sk-${name}-0123456789`;
const TEAM_SETTINGS = {
  publicUrl: TEAM,
  keys: NAMES.map((name) => ({
    name,
    sha256: createHash("sha256").update(toKey(name)).digest("hex"),
  })),
};

const WAITING = /^\d\d:\d\d:\d\d {2}✗/m;

export const SCENARIOS: readonly Scenario[] = [
  {
    title: "From a clone",
    folder: "clone",
    serve: "npm ci --omit=dev && npm start",
    until: STARTED,
    asked: [ASK],
    pictures: FIRST_HOUR,
    isTimed: true,
    isSlow: true,
  },
  {
    title: "A client's code",
    text: "`connect` prints it for the running gateway. `app` is a folder of your own.",
    folder: "clone",
    serve: "npm start",
    until: STARTED,
    asked: [
      "npm start --silent -- connect typescript --gateway http://127.0.0.1:8787 > ../app/hello.mjs",
      "cat ../app/hello.mjs",
      "cd ../app && npm install --silent openai && node hello.mjs",
    ],
    isSlow: true,
  },
  {
    title: "A key for alice",
    text: "The gateway keeps hashes of keys only. With a key, other machines may use it, too: add `--host 0.0.0.0`.",
    folder: "clone",
    before: ["npm start --silent -- key alice"],
    serve: `npm start -- --keys ${SHOWN_HASH}`,
    until: STARTED,
    asked: [ASK, `${ASK} -H 'Authorization: Bearer ${SHOWN_KEY}'`],
    isSlow: true,
  },
  {
    title: "With an inference server",
    serve: "harmony-gateway --url http://127.0.0.1:8000",
    until: STARTED,
    asked: [ASK],
  },
  {
    title: "Is the engine right?",
    text: "`doctor` asks it what the gateway relies on, and says what to change. Here are some of its checks; without `--checks`, all are run.",
    before: [
      "harmony-gateway doctor --url http://127.0.0.1:8000 --checks reachable,identity,model,context,ids-in,ids-out,json-schema",
    ],
    isSlow: true,
  },
  {
    title: "A vLLM that offers only gpt-oss-120b, and has no health path",
    text: "A URL is enough. The name of the docs, `openai/gpt-oss-20b`, finds the only model too.",
    serve: "harmony-gateway http://127.0.0.1:8003",
    until: STARTED,
    asked: [
      `curl -s ${CHAT} -d '{"model":"openai/gpt-oss-20b","messages":[{"role":"user","content":"Hello!"}]}'`,
    ],
  },
  {
    title: "An engine that is lost, and comes back",
    serve: "harmony-gateway --url http://127.0.0.1:8004 --health-interval-ms 1000",
    until: STARTED,
    asked: [
      "curl -s http://127.0.0.1:8004/lose; sleep 4",
      ASK,
      "curl -s http://127.0.0.1:8004/return; sleep 4",
      ASK,
    ],
    isSlow: true,
  },
  {
    title: "A client, connected",
    serve: "harmony-gateway http://127.0.0.1:8003",
    until: STARTED,
    text: "`--write` changes the client's own files; here the home folder is another one.",
    files: { ".codex/config.toml": CODEX_SETTINGS },
    asked: [
      "harmony-gateway connect opencode --gateway http://127.0.0.1:8787",
      "HOME=. harmony-gateway connect codex --gateway http://127.0.0.1:8787 --write",
      "HOME=. harmony-gateway connect codex --undo",
    ],
    isSlow: true,
  },
  {
    title: "A wrong invocation",
    text: "One sentence each; `test/node/wrong-invocations.test.ts` has over eighty.",
    before: [
      "harmony-gateway --prot 8080",
      "harmony-gateway gpu:8000",
      "harmony-gateway --model llama3",
      "harmony-gateway --host 0.0.0.0",
      "harmony-gateway render missing.json",
    ],
  },
  {
    title: "A wrong URL",
    text: "The gateway starts all the same, and serves as soon as something answers there.",
    serve: "harmony-gateway --url http://127.0.0.1:8001",
    until: WAITING,
    asked: [ASK],
  },
  {
    title: "The URL of something else",
    serve: "harmony-gateway --url http://127.0.0.1:8002",
    until: WAITING,
    asked: [ASK],
  },
  {
    title: "https, and the server speaks plain HTTP",
    serve: "harmony-gateway --url https://127.0.0.1:8002",
    until: WAITING,
  },
  {
    title: "http, and the server speaks TLS",
    text: "Some servers close such a connection, some say what is wrong.",
    serve: "harmony-gateway --url http://127.0.0.1:8005",
    until: WAITING,
  },
  {
    title: "A key that the server refuses",
    serve: "harmony-gateway --url http://127.0.0.1:8006 --engine-key wrong",
    until: WAITING,
  },
  {
    title: "A wrong engine",
    text: "vLLM answers there, not Ollama. Without `--engine` the kind is found out.",
    serve: "harmony-gateway --engine ollama --url http://127.0.0.1:8000",
    until: WAITING,
    asked: [ASK],
  },
  {
    title: "A wrong model",
    serve: "harmony-gateway --url http://127.0.0.1:8000 --model llama3",
    until: WAITING,
    asked: [ASK],
  },
  {
    title: "A wrong model in a request, a path that is not there, a wrong body",
    serve: "harmony-gateway",
    until: STARTED,
    asked: [
      `curl -s ${CHAT} -d '{"model":"gpt-5","messages":[{"role":"user","content":"Hello!"}]}'`,
      "curl -s http://127.0.0.1:8787/v1/embeddings -d '{}'",
      "curl -s http://127.0.0.1:8787/chat/completions -d '{}'",
      `curl -s ${CHAT} -d '{"messages":"Hello"}'`,
    ],
  },
  {
    title: "From a clone, with an old Node",
    text: "The gateway needs Node 22.19. With an older one, `npm start` fetches a newer one.",
    folder: "clone",
    serve: "npx --yes --package node@20 -- node scripts/start.cjs",
    until: STARTED,
    isSlow: true,
  },
  {
    title: "From the package",
    text: `\`npm pack\` in a clone has made \`${TARBALL}\`.`,
    folder: "app",
    before: [`npm install ../${TARBALL}`, "npx harmony-gateway --version"],
    serve: "npx harmony-gateway",
    until: STARTED,
    asked: [ASK],
    isTimed: true,
    isSlow: true,
  },
  {
    title: "Three keys, behind nginx with TLS and a path",
    text: "nginx listens at `https://llm.example.com` and passes `/team/` on to port 8787. Every address that is printed is the public one.",
    isBehindProxy: true,
    files: { "team.json": `${JSON.stringify(TEAM_SETTINGS, undefined, 2)}\n` },
    before: ["cat team.json"],
    serve: "harmony-gateway --config team.json",
    until: STARTED,
    asked: [
      `curl -s ${TEAM}/v1/chat/completions -H 'Authorization: Bearer ${toKey("alice")}' -d '${HELLO}'`,
      ...["bob", "carol"].map(
        (name) =>
          `curl -s -o /dev/null -w '%{http_code}\\n' ${TEAM}/v1/models -H 'Authorization: Bearer ${toKey(name)}'`,
      ),
      `curl -s ${TEAM}/v1/models`,
      `HARMONY_GATEWAY_KEY=${toKey("bob")} harmony-gateway connect claude-code --gateway ${TEAM}`,
    ],
    isSlow: true,
  },
  {
    title: "In your own server",
    text: "Examples of [examples/embed](../../examples/embed), each asked once; those of Next.js and Cloudflare answer in `test/embed/examples.test.ts`.",
    folder: "app",
    before: [
      `npm install --silent express bun deno ../${TARBALL}`,
      "cp ../clone/examples/embed/*.mjs .",
      embed("node express.mjs", "/llm"),
      embed("npx bun bun.mjs", "/llm"),
      embed("npx deno run --allow-net --allow-env --allow-read deno.mjs", "/llm"),
      embed("node ../clone/examples/embed/node.ts", ""),
      embed("npx bun ../clone/examples/embed/hono.ts", "/llm"),
    ],
    isSlow: true,
  },
  {
    title: "A dead Redis",
    text: "The gateway refuses requests that must be stored; all others work, at worst without earlier reasoning.",
    serve: "harmony-gateway --store redis://127.0.0.1:1",
    until: STARTED,
    asked: [
      "curl -s http://127.0.0.1:8787/v1/responses " +
        `-d '{"model":"openai/gpt-oss-20b","input":"Hello!"}'`,
      ASK,
    ],
    isSlow: true,
  },
];
