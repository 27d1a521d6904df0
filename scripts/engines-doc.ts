/** Generates `docs/engines.md`: how to start each engine, and its capabilities. */
import { readdirSync, readFileSync } from "node:fs";
import type { Capabilities, Constraint } from "../src/engines/engine.ts";
import { ALL_SAMPLING, SAMPLING_FIELDS } from "../src/engines/sampling.ts";
import { ENGINE_KINDS, ENGINES, type EngineKind } from "../src/engines/create-engine.ts";

interface Guide {
  /** The server's command line. Absent: there is nothing to start. */
  readonly server?: string;
  /** The gateway's command line. */
  readonly gateway: string;
  /** For `npm run docs:check`: which of the commands it cannot run, and why. */
  readonly notRun?: string;
  /** Markdown, one list item each. */
  readonly notes: readonly string[];
}

/** Of the servers that use xgrammar. */
const TAGS =
  "Structural tags (`singleCallConstraint`) do not know that setting: in them the gateway limits white space to 64 characters, " +
  "which xgrammar obeys from 0.2.4.";

const GUIDES: Readonly<Record<EngineKind, Guide>> = {
  demo: {
    gateway: "harmony-gateway",
    notes: ["Also runs on Workers. It is not a model: see the README."],
  },
  llama: {
    gateway: "harmony-gateway --engine llama --model openai/gpt-oss-20b",
    notRun: ": downloads 12 GB",
    notes: [
      "Run `npm install node-llama-cpp` first: an optional peer dependency, loaded only with this engine. Node only; on " +
        "Workers the engine reports that it is not available.",
      "`--model` is a path to a GGUF file, `hf:user/repository/file.gguf`, a URL, or one of OpenAI's two names. A missing " +
        "file is downloaded (12 GB for the 20b model, 63 GB for the 120b); until then, requests get 503.",
      "Serves several conversations at a time. A prompt that begins like an earlier one of the same tenant costs only its new part.",
      "`--context-length` limits its memory.",
      "A bias on a token that ends the generation (`<|return|>`, `<|call|>`, `<|endoftext|>`) has no effect: node-llama-cpp " +
        "3 leaves these tokens out of its biases. llama-server and the other engines obey it.",
    ],
  },
  vllm: {
    server:
      "vllm serve openai/gpt-oss-20b --max-model-len 131072 --enable-prompt-tokens-details --prefix-cache-retention-interval 128",
    notRun: ", vllm: needs vLLM and a GPU",
    gateway: "harmony-gateway --engine vllm --url http://127.0.0.1:8000 --model openai/gpt-oss-20b",
    notes: [
      "Ids in the output need `return_token_ids`, available from about version 0.10.2. The probe requests one token and reports the form of the output.",
      "Do not set `--reasoning-parser`: in some versions it decides where a constraint begins to apply. The gateway parses the output itself.",
      "With `--enable-prompt-tokens-details` it reports cached tokens.",
      "`--prefix-cache-retention-interval 128` matters for tool loops: gpt-oss has a window of 128 tokens in every other layer, and " +
        "since version 0.29 vLLM keeps that window at the end of a prompt only (vllm#52216), so each step reads again what the " +
        "model wrote in the step before. With it, a real run of 56 steps read 19 % fewer tokens; it takes room in the cache " +
        "when many conversations run (vllm#48435). The doctor checks it: `loop-cache`.",
      "`--token-endpoint` uses `/inference/v1/generate` if the server has it. Version 0.32 has it only with `--enable-scale-out`; " +
        "without, the gateway uses `/v1/completions`.",
      "Under a JSON schema the model may write white space between JSON tokens without end; after 1,024 characters the gateway ends the call, and checks what there is. " +
        '`--structured-outputs-config \'{"backend":"xgrammar","disable_any_whitespace":true}\'` forbids it; it has to name the ' +
        "backend. " +
        TAGS,
      "Version 0.32 refuses a schema that it cannot use inside the stream, after status 200; the gateway reads it as the refusal it is.",
      "`cache_salt` separates the prefix caches of tenants.",
    ],
  },
  sglang: {
    server:
      "python -m sglang.launch_server --model-path openai/gpt-oss-20b --incremental-streaming-output",
    notRun: ", python: needs SGLang and a GPU",
    gateway:
      "harmony-gateway --engine sglang --url http://127.0.0.1:30000 --model openai/gpt-oss-20b",
    notes: [
      "`--incremental-streaming-output` is recommended: without it every frame repeats the whole answer so far, so the " +
        "traffic grows with the square of its length. The gateway reads both forms and distinguishes them frame by frame.",
      "Do not set `--reasoning-parser` or `--tool-call-parser`: the latter can drop the id that ends a call.",
      "It rejects streaming requests with an error frame under status 200; clients still get a proper error status.",
      "A seed has an effect only on a server started with `--enable-deterministic-inference`.",
      "Under a JSON schema the model may write white space between JSON tokens without end; after 1,024 characters the gateway ends the call, and checks what there is. " +
        "`--constrained-json-disable-any-whitespace` forbids it. " +
        TAGS,
      "`extra_key` separates the prefix caches of tenants.",
    ],
  },
  "llama-cpp": {
    server: "llama-server -hf ggml-org/gpt-oss-20b-GGUF --ctx-size 131072 --parallel 4 --port 8080",
    notRun: ", llama-server: needs llama.cpp and a model of 12 GB",
    gateway: "harmony-gateway --engine llama-cpp --url http://127.0.0.1:8080 --max-concurrent 4",
    notes: [
      "It does not send the ids of characters that span several tokens, so control tokens are read by id and everything else as text.",
      "The slots may share `--ctx-size`: the probe reads the context of one slot. With as many slots as " +
        "`--max-concurrent`, requests wait in the gateway's queue, which answers with Retry-After when it is full.",
      "Since June 2026 it also runs raw output through its chat parser, which fails a request whose output is not valid UTF-8; " +
        "such a request is retried once if nothing of it has been emitted.",
      "It accepts any model name, so a wrong one is not noticed.",
      "Its prefix cache is shared by all tenants: response times can reveal whether another tenant has sent the same prompt.",
    ],
  },
  trtllm: {
    server: "trtllm-serve openai/gpt-oss-20b --extra_llm_api_options options.yaml",
    notRun: ", trtllm-serve: needs TensorRT-LLM and a GPU",
    gateway:
      "harmony-gateway --engine trtllm --url http://127.0.0.1:8000 --model openai/gpt-oss-20b",
    notes: [
      "Constraints need `guided_decoding_backend: xgrammar` in `options.yaml`.",
      "It rejects unknown fields, so `extraBody` must contain only fields it knows.",
      "On an error in the middle of an answer it closes the connection without a message; clients still get a typed error.",
    ],
  },
  ollama: {
    server: "ollama serve\nollama pull gpt-oss:20b",
    notRun: ", ollama: needs Ollama and a model of 13 GB",
    gateway:
      "harmony-gateway --engine ollama --model gpt-oss:20b --served-name openai/gpt-oss-20b --context-length 32768",
    notes: [
      "Text only: control tokens spelled in user text, tool results or schemas are visibly broken up.",
      "It loads the model with the context of `--context-length`, 32768 by default, because its own default is too short for tools.",
      "It ends a completion without notice after 30 equal chunks in a row, and does not report which token ended a turn.",
      "Its `/v1/completions` applies the template and is not used.",
    ],
  },
  fireworks: {
    gateway:
      "HARMONY_GATEWAY_ENGINE_KEY=… harmony-gateway --engine fireworks --model accounts/fireworks/models/gpt-oss-20b --served-name openai/gpt-oss-20b",
    notes: [
      "The conversation's affinity is sent as `prompt_cache_key`, the tenant as `prompt_cache_isolation_key`.",
      "Every request tells the server to reject a prompt that is too long instead of shortening the answer.",
    ],
  },
  completions: {
    gateway:
      "harmony-gateway --engine completions --url http://127.0.0.1:1234 --model openai/gpt-oss-20b",
    notes: [
      "For servers with an OpenAI-style `/v1/completions` that takes a string and applies no template: LM Studio, MLX-LM, " +
        "KoboldCpp, DeepInfra.",
      "The engine with the fewest capabilities: text only, without constraints, so all output is validated by the gateway. Whether control tokens are visible " +
        "depends on the server. A server that hides them is detected by the probe or by its first answer, and refused: see below.",
    ],
  },
};

interface Row {
  readonly title: string;
  readonly of: (engine: Capabilities) => string;
}

const yes = (has: boolean) => (has ? "native" : "–");
const constraint =
  (type: Constraint["type"], otherwise: string) =>
  ({ constraints }: Capabilities) =>
    constraints.includes(type) ? "native" : otherwise;

const ROWS: readonly Row[] = [
  { title: "prompt", of: ({ idsIn }) => (idsIn ? "ids" : "text") },
  { title: "answer", of: ({ idsOut }) => ANSWERS[idsOut] },
  { title: "returns the stop token", of: ({ stopIdVisible }) => yes(stopIdVisible) },
  {
    title: "stops at given ids",
    of: ({ stopIds }) => (stopIds ? "native" : "by closing the stream"),
  },
  { title: "JSON schema", of: constraint("json-schema", "checked") },
  { title: "any JSON object", of: constraint("json-object", "checked") },
  { title: "one of several strings", of: constraint("choice", "checked") },
  { title: "grammar (`apply_patch`)", of: constraint("grammar", "–") },
  { title: "grammar in Lark's notation", of: constraint("lark", "–") },
  { title: "regular expression", of: constraint("regex", "–") },
  { title: "a whole turn, by structural tag", of: constraint("structural-tag", "–") },
  { title: "a whole turn, by token grammar", of: constraint("token-grammar", "–") },
  { title: "log probabilities", of: ({ logprobs }) => yes(logprobs) },
  { title: "sampling parameters without effect", of: missingSampling },
];

const ANSWERS = {
  exact: "ids",
  lossy: "control ids, text",
  none: "text",
  unmarked: "text without control tokens",
} as const;

function missingSampling({ sampling }: Capabilities): string {
  const missing = ALL_SAMPLING.filter((name) => !sampling.includes(name));
  return missing.map((name) => `\`${SAMPLING_FIELDS[name]}\``).join(", ") || "none";
}

const HEAD = `# Engines

<!-- Generated by scripts/write-engines-doc.ts from the engines' capabilities: edit that script. -->

The gateway requires only one thing of an inference server: that it continues a prompt. Further capabilities are probed
when the gateway starts (ids in the output? control tokens visible? context length?), printed, and used. Missing ones are
replaced by the gateway; [guarantees.md](guarantees.md) describes how for each kind of request.

## What is native and what is emulated

The maximum for each kind; a probe may find less.

`;

const TAIL = `
## Several backends

Backends with the same \`servedName\` serve one model together. They may be of different kinds; the model has the
capabilities that all of them share.

\`\`\`json
{
  "backends": [
    { "engine": "vllm", "url": "http://gpu-1:8000", "model": "openai/gpt-oss-20b", "maxConcurrent": 64 },
    { "engine": "vllm", "url": "http://gpu-2:8000", "model": "openai/gpt-oss-20b", "maxConcurrent": 64 },
    { "engine": "sglang", "url": "http://gpu-3:30000", "model": "openai/gpt-oss-20b", "name": "spare" }
  ]
}
\`\`\`

- **Choice.** Requests of one conversation go to the same backend, to hit its prefix cache: by \`prompt_cache_key\`, else
  \`session_id\` (or the header \`x-session-id\`), else by its tenant and how it begins. It moves if its backend has over
  eight more requests in flight than the least loaded one. There is no table, so all replicas of the gateway choose the same backend.
- **Retry.** After the first token, a request is not retried, because the client has seen the token; it gets a typed error.
  Before it:
  - a request that did not reach a backend, or whose backend went down, goes to another one immediately;
  - a request that was cut off, timed out or rejected by a busy server is sent at most three times;
  - a request that was answered with an error is retried on one other backend, and only within the retry budget: a fifth
    of the requests in flight, at least ten;
  - a request that the server rejects as invalid fails immediately.
- **Ejection.** Failures to reach a backend (no connection, no first token in time) eject it after \`breakerFailures\` in a
  row. Errors it answers with may be the fault of a request, so they count as a rate: more than half of at least ten
  requests within 20 seconds, and for most of at least two clients (keys; conversations while only one key sends
  requests). One request counts against one backend only. An ejected backend gets no requests for a second, and
  twice as long after each failed trial, up to 15 seconds. Then it gets one request at a time, after a first token two, then
  four, then all. The last available backend is never ejected: it shows as \`degraded\`.
- **Health.** Every \`healthIntervalMs\` each backend gets a health check with a timeout of three seconds. After two failed
  checks, one second apart, it is \`down\`: it gets no requests, and those without a first token are retried elsewhere. A slow
  check does not count while requests are being answered. A backend that rejects the gateway's key or does not serve the
  model is used last and shows as \`degraded\`. Workers run nothing between requests, so there health is updated only by
  requests, including \`/ready\`.
- **Queue.** With \`maxConcurrent\`, requests wait in the gateway while every backend is full, for at most \`queueTimeoutMs\`. Each of
  \`n\` choices counts as one. A request that can only go to a full backend does not block others.
- **Fair shares.** Each key is a tenant with its own queue. A free slot goes to the queued tenant with the fewest requests
  in flight. So each of n tenants under load gets 1/n of the slots, and a tenant alone gets all. When \`maxQueued\` requests
  wait, a new one replaces the latest request of the tenant with the most waiting.
  \`maxQueuedPerKey\` and \`maxConcurrentPerKey\` set limits, for all keys or in an entry of \`keys\`. A tenant over its share gets
  429. If the whole queue is full, or every backend is down, requests get 503. Both have \`Retry-After\`. Without \`maxConcurrent\` the inference server queues by itself, and only \`maxConcurrentPerKey\` is
  enforced here. A server's own 429 is passed on with its \`Retry-After\`.
- **Monitoring.** \`/ready\` lists the backends, and so does \`/metrics\` (\`harmony_gateway_backend_…\`, and
  \`harmony_gateway_tenant_…\` by the number of the key in \`keys\`, from 0); the log has a line when one
  goes down or comes back.

A single engine is treated as a list of one.

## Pitfalls

- A text server that hides control tokens returns \`analysis…assistantfinal…\`, in which reasoning cannot be told from the
  answer with certainty. The probe detects this, and so does each answer; both are rejected with status 502. Configure the
  server to show special tokens. With the setting \`allowHiddenMarkers\` the remaining words are read instead.
- A hanging server is detected by a timeout. \`firstTokenTimeoutMs\` is ten minutes, because a busy server may queue a
  request for that long. With several backends a shorter timeout makes sense. llama-server reports its progress with a prompt, and as
  long as it makes any, the wait begins again. Keep-alives then say so, for instance \`: prompt 12288/48000\`.
- Servers' own defaults never apply: every request sets all sampling parameters and a token limit.
- Text \`stop\` is never sent to a server: it would match inside the reasoning.
- Ids that gpt-oss does not have (padding, seen with broken constraints) are dropped.
- An error frame under status 200, a stream without a finish and a silent end are all reported as errors, never as a shortened answer.

## What this was tested with

Real servers, but no weights of gpt-oss:

| engine | version | model | what was run |
| --- | --- | --- | --- |
| vllm | vLLM 0.32.0 on a processor, \`/v1/completions\` and \`/inference/v1/generate\` | a tiny gpt-oss without training | recordings, contract, doctor, [scorecard](comparison.md) |
| llama-cpp | llama-server v0.5.0 of llama.cpp | the same | recordings, contract, doctor, scorecard |
| llama | node-llama-cpp, as \`npm ci\` installs it | the same | doctor, and \`test/node/llama\` in every run of the tests |
| sglang | SGLang 0.5.23 on a processor | a Llama of random weights with gpt-oss' vocabulary | recordings, the parts of contract and doctor that need no trained model |
| demo | built in | none | everything |
| trtllm, ollama, fireworks, completions | not run | – | – |

Recordings are in \`test/fixtures/recorded\`, byte for byte as the servers sent them, and replayed by the tests. For all
engines \`test/fixtures/engines\` has responses written field by field from the servers' sources and documentation, which
the tests split at every byte. [proof/real/README.md](../proof/real/README.md) has the set-up scripts, what the contract found, and
how the recordings differ from those responses: in nothing that an adapter reads. The command lines above are the vendors'.

Two hundred streams over three simulated servers, one of them killed, hung, slowed down or sending garbage, are in
\`test/node/load.test.ts\`.
`;

const DOCTOR_HEAD = `## What the doctor says

What [the doctor](doctor.md) found on the engines that could be run, on a machine busy with other things: the times are
no figures. The model is a toy of 40 MB, which writes valid Harmony and knows one tool; that of SGLang writes random
words, so \`--checks\` asked it only for what does not depend on them.
Add the report of another engine as \`scripts/doctor-reports/<name>.md\`, as \`doctor --markdown\` prints it.
`;

export function toEnginesDocument(): string {
  const table = [
    `| | ${ENGINE_KINDS.join(" | ")} |`,
    `| --- | ${ENGINE_KINDS.map(() => "---").join(" | ")} |`,
    ...ROWS.map(({ title, of }) => {
      const cells = ENGINE_KINDS.map((kind) => of(ENGINES[kind].capabilities));
      return `| ${title} | ${cells.join(" | ")} |`;
    }),
  ];
  const guides = ENGINE_KINDS.map((kind) => toGuide(kind, GUIDES[kind]));
  const start = `${HEAD}${table.join("\n")}\n\n## How to start each kind\n\n${guides.join("\n")}`;
  return `${start}${TAIL}\n${DOCTOR_HEAD}\n${readReports().join("\n")}`;
}

/** Each of them printed by `harmony-gateway doctor --markdown`, against a running engine. */
function readReports(): string[] {
  const folder = new URL("doctor-reports/", import.meta.url);
  return readdirSync(folder)
    .toSorted()
    .map((name) => readFileSync(new URL(name, folder), "utf8").trimEnd() + "\n");
}

function toGuide(kind: EngineKind, { server, gateway, notRun, notes }: Guide): string {
  const { title, url } = ENGINES[kind];
  const commands = [server, gateway].filter((each) => each !== undefined).join("\n");
  const usual = typeof url === "object" ? ` Its default address is ${url.default}.` : "";
  return [
    `### ${kind}`,
    "",
    `${title}.${usual}`,
    "",
    ...(notRun === undefined ? [] : [`<!-- not run${notRun} -->`, ""]),
    "```sh",
    commands,
    "```",
    "",
    ...notes.map((note) => `- ${note}`),
    "",
  ].join("\n");
}
