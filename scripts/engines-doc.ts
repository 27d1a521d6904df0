/** Generates `docs/engines.md`: how to start each engine, and its capabilities. */
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
        "model wrote in the step before. With it, a real run of 56 steps read <!-- figure: retention-interval -->19 %<!-- / --> fewer tokens; it takes room in the cache " +
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

Choose an inference server and start it. The gateway needs only one thing of it: that it continues a prompt. Further capabilities are probed when the gateway starts, and used; missing ones are replaced by the
gateway ([guarantees](guarantees.md)). \`harmony-gateway doctor\` tests a server.

## What is native and what is emulated

The maximum for each kind; a probe may find less.

`;

const TAIL = `
## Several backends

Backends with the same \`servedName\` serve one model together. They may be of different kinds; the model has the capabilities that all of them share.

\`\`\`json
{
  "backends": [
    { "engine": "vllm", "url": "http://gpu-1:8000", "model": "openai/gpt-oss-20b", "maxConcurrent": 64 },
    { "engine": "vllm", "url": "http://gpu-2:8000", "model": "openai/gpt-oss-20b", "maxConcurrent": 64 },
    { "engine": "sglang", "url": "http://gpu-3:30000", "model": "openai/gpt-oss-20b", "name": "spare" }
  ]
}
\`\`\`

- **Choice.** Requests of one conversation go to the same backend, to hit its prefix cache: by \`prompt_cache_key\`, else \`session_id\` (or the header \`x-session-id\`), else by the tenant and how the conversation
  begins. A conversation moves if its backend has over eight more requests in flight than the least loaded one.
- **Retry.** A request that has given no token yet goes to another backend if it did not reach one, is sent at most three times if it was cut off, timed out or found the server busy, and is retried once, within a budget, if it was
  answered with an error. A request that the server rejects as invalid fails immediately. After the first token the client gets a typed error.
- **Ejection.** Failures to reach a backend eject it after three in a row. Errors it answers with count as a rate: more than half of at least ten requests within 20 seconds, and for most of at least two clients. It is tried
  again after one second, then twice as long, up to 15 seconds, with one request, then two, then four. The last available backend is never ejected.
- **Health.** Every \`healthIntervalMs\` each backend gets a health check. After two failed checks it is \`down\`, and its requests without a token are retried elsewhere. A backend that rejects the gateway's key or does not serve the
  model is used last, as \`degraded\`.
- **Queue.** With \`maxConcurrent\`, requests wait in the gateway while every backend is full, for at most \`queueTimeoutMs\`. Without it the inference server queues, and only \`maxConcurrentPerKey\` is enforced here.
- **Fair shares.** Each key is a tenant with its own queue, and a free slot goes to the queued tenant with the fewest requests in flight. When \`maxQueued\` requests wait, a new one replaces the latest request of the tenant with the most
  waiting, which gets 429. \`maxQueuedPerKey\` and \`maxConcurrentPerKey\` set limits, for all keys or for one.
- **Monitoring.** \`/ready\`, \`/metrics\` (\`harmony_gateway_backend_…\`) and the log show each backend.

## Pitfalls

- A text server that hides control tokens returns \`analysis…assistantfinal…\`, in which reasoning cannot be told from the answer. The gateway detects it and answers 502: configure the server to show special tokens, or set
  \`allowHiddenMarkers\`.
- \`firstTokenTimeoutMs\` is ten minutes, because a busy server may queue a request for that long. With several backends a shorter timeout makes sense. Progress that llama-server reports with a prompt restarts the wait.
- Servers' own defaults never apply: every request sets all sampling parameters and a token limit. Text \`stop\` is never sent to a server, because it would match inside the reasoning.
- An error frame under status 200, a stream without a finish and a silent end are errors, never a shortened answer.

## What this was tested with

Real servers, but no weights of gpt-oss:

| engine | version | model | what was run |
| --- | --- | --- | --- |
| vllm | vLLM 0.32.0 on a processor, \`/v1/completions\` and \`/inference/v1/generate\` | a tiny gpt-oss without training | recordings, contract, [doctor](../proof/real/doctor-reports/vllm.md), [scorecard](comparison.md) |
| llama-cpp | llama-server v0.5.0 of llama.cpp | the same | recordings, contract, [doctor](../proof/real/doctor-reports/llama-server.md), scorecard |
| llama | node-llama-cpp, as \`npm ci\` installs it | the same | [doctor](../proof/real/doctor-reports/llama.md), and \`test/node/llama\` in every run of the tests |
| sglang | SGLang 0.5.23 on a processor | a Llama of random weights with gpt-oss' vocabulary | recordings, the parts of contract and [doctor](../proof/real/doctor-reports/sglang.md) that need no trained model |
| demo | built in | none | everything |
| trtllm, ollama, fireworks, completions | not run | – | – |

Tests replay the recordings in \`test/fixtures/recorded\`, byte for byte. \`test/fixtures/engines\` has responses written field by field from the servers' sources and documentation; [proof/real](../proof/real/README.md) says how the
recordings differ from those, and has the set-up scripts.

Next: [The doctor](doctor.md), [Guarantees](guarantees.md)
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
  return `${start}${TAIL}`;
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
