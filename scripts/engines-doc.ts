/** Generates `docs/engines.md`: how to start each engine, and its capabilities. */
import type { Capabilities, Constraint } from "../src/engines/engine.ts";
import { ALL_SAMPLING, SAMPLING_FIELDS } from "../src/engines/sampling.ts";
import { ENGINE_KINDS, ENGINES, type EngineKind } from "../src/engines/create-engine.ts";

interface Guide {
  /** The server's command line. Absent: there is nothing to start. */
  readonly server?: string;
  /** The gateway's command line. */
  readonly gateway: string;
  /** For `node scripts/docs-check.ts`: which of the commands it cannot run, and why. */
  readonly notRun?: string;
  /** Markdown, one list item each. */
  readonly notes: readonly string[];
}

/** A note for the servers that use xgrammar. */
const TAGS =
  "Structural tags (`singleCallConstraint`) ignore that setting: there the gateway limits white space to 64 characters, " +
  "which xgrammar obeys from 0.2.4.";

const GUIDES: Readonly<Record<EngineKind, Guide>> = {
  demo: {
    gateway: "harmony-gateway",
    notes: ["It also runs on Workers. It is not a model."],
  },
  llama: {
    gateway: "harmony-gateway --engine llama --model openai/gpt-oss-20b",
    notRun: ": downloads 12 GB",
    notes: [
      "On Node only. Run `npm install node-llama-cpp` first, an optional peer dependency.",
      "`--model` is a path to a GGUF file, `hf:user/repository/file.gguf`, a URL, or one of OpenAI's two names. A missing " +
        "file is downloaded (12 GB for the 20b model, 63 GB for the 120b); until then, requests get 503.",
      "It serves several conversations at a time. A prompt that begins like an earlier one of the same tenant costs only its new part. `--context-length` limits the memory.",
      "A bias on a token that ends the generation (`<|return|>`, `<|call|>`, `<|endoftext|>`) has no effect.",
    ],
  },
  vllm: {
    server:
      "vllm serve openai/gpt-oss-20b --max-model-len 131072 --enable-prompt-tokens-details --prefix-cache-retention-interval 128",
    notRun: ", vllm: needs vLLM and a GPU",
    gateway: "harmony-gateway --engine vllm --url http://127.0.0.1:8000 --model openai/gpt-oss-20b",
    notes: [
      "Ids in the output need `return_token_ids`, available from about version 0.10.2. The probe reports the form of the output.",
      "Do not set `--reasoning-parser`: in some versions it decides where a constraint begins to apply.",
      "With `--enable-prompt-tokens-details` it reports cached tokens.",
      "`--prefix-cache-retention-interval 128` is for tool loops: since version 0.29 vLLM keeps gpt-oss' window of 128 tokens " +
        "at the end of a prompt only (vllm#52216), so each step reads again what the model wrote in the step before. With it, a " +
        "real run of 56 steps read <!-- figure: retention-interval -->19 %<!-- / --> fewer tokens; it takes room in the cache " +
        "when many conversations run (vllm#48435). The doctor checks it: `loop-cache`.",
      "`--token-endpoint` uses `/inference/v1/generate` if the server has it (version 0.32: with `--enable-scale-out`), else " +
        "`/v1/completions`.",
      "Under a JSON schema the model may write white space without end; after 1,024 characters the gateway ends the call, and checks what there is. " +
        '`--structured-outputs-config \'{"backend":"xgrammar","disable_any_whitespace":true}\'` forbids it; ' +
        "the backend has to be named. " +
        TAGS,
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
      "Without `--incremental-streaming-output` every frame repeats the whole answer so far; the gateway reads both forms.",
      "Do not set `--reasoning-parser` or `--tool-call-parser`: the latter can drop the id that ends a call.",
      "A seed has an effect only on a server started with `--enable-deterministic-inference`.",
      "As with [vLLM](#vllm), white space under a JSON schema may have no end. " +
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
        "`--max-concurrent`, requests wait in the gateway's queue.",
      "Since June 2026 it fails a request whose raw output is not valid UTF-8; the gateway retries it once if nothing of it has been emitted.",
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
      "It rejects unknown fields, in `extraBody` too.",
    ],
  },
  ollama: {
    server: "ollama serve\nollama pull gpt-oss:20b",
    notRun: ", ollama: needs Ollama and a model of 13 GB",
    gateway:
      "harmony-gateway --engine ollama --model gpt-oss:20b --served-name openai/gpt-oss-20b --context-length 32768",
    notes: [
      "Text only: control tokens spelled in user text, tool results or schemas are visibly broken up.",
      "It loads the model with the context of `--context-length`, 32768 by default: its own default is too short for tools.",
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
      "The server's `/v1/completions` must take a string and apply no template.",
      "Text only, without constraints: the gateway validates all output. A server that hides control tokens is refused: see [pitfalls](#pitfalls).",
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

<!-- Generated by scripts/engines-doc.ts from the engines' capabilities: edit that script. -->

Choose an inference server and start it: ${ENGINE_KINDS.map((kind) => `[${kind}](#${kind})`).join(", ")}. It only has to continue a prompt. The gateway probes further capabilities when it starts, and replaces
missing ones ([guarantees](guarantees.md)). With a prompt as text instead of ids it must break up typed control tokens visibly. [The doctor](doctor.md) tests a server.

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

- **Choice.** A conversation stays with one backend and its prefix cache: by \`prompt_cache_key\`, else \`session_id\` (or the header \`x-session-id\`), else by the tenant and how the conversation
  begins. It moves if that backend has over eight more requests in flight than the least loaded one.
- **Retry.** Before its first token, a request that reached no backend goes to another. If it was cut off, timed out or found the server busy, it is sent at most three times; after an error as the answer, it is retried once, within a budget. An invalid request fails immediately. After the first token the client gets a typed error.
- **Ejection.** Three failures in a row to reach a backend eject it, and so does a rate of errors: more than half of at least ten requests within 20 seconds, and for most of at least two clients. It is tried
  again after one second, then twice as long, up to 15 seconds, with one request, then two, then four. The last one is never ejected.
- **Health.** After two failed checks (\`healthIntervalMs\`) a backend is \`down\`, and its requests without a token are retried elsewhere. One that rejects the gateway's key or does not serve the
  model is \`degraded\`, and used last.
- **Queue.** With \`maxConcurrent\`, requests wait in the gateway while every backend is full, for at most \`queueTimeoutMs\`. Without it the inference server queues.
- **Fair shares.** A free slot goes to the queued key with the fewest requests in flight. When \`maxQueued\` requests wait, a new one replaces the latest request of the key with the most
  waiting, which gets 429. \`maxQueuedPerKey\` and \`maxConcurrentPerKey\` set limits, for all keys or for one.
- **Monitoring.** \`/ready\`, \`/metrics\` (\`harmony_gateway_backend_…\`) and the log show each backend.

## Pitfalls

- A text server that hides control tokens returns \`analysis…assistantfinal…\`. The gateway detects it, by the probe or the first answer, and answers 502: let the server show special tokens, or set
  \`allowHiddenMarkers\`.
- \`firstTokenTimeoutMs\` is ten minutes, because a busy server may queue a request for that long: shorten it with several backends. Progress that llama-server reports with a prompt restarts the wait.
- Servers' own defaults never apply: every request sets all sampling parameters and a token limit. Text \`stop\` is never sent, because it would match inside the reasoning.
- An error frame under status 200, a closed connection and a silent end are errors for the client, never a shortened answer.

## What this was tested with

Real servers, but no weights of gpt-oss:

| engine | version | model | run |
| --- | --- | --- | --- |
| vllm | vLLM 0.32.0 on a processor, \`/v1/completions\` and \`/inference/v1/generate\` | a tiny gpt-oss without training | recordings, contract, [doctor](../proof/real/doctor-reports/vllm.md), [scorecard](evidence/comparison.md) |
| llama-cpp | llama-server v0.5.0 of llama.cpp | likewise | recordings, contract, [doctor](../proof/real/doctor-reports/llama-server.md), scorecard |
| llama | node-llama-cpp, as \`npm ci\` installs it | likewise | [doctor](../proof/real/doctor-reports/llama.md), and \`test/node/llama\` in every run of the tests |
| sglang | SGLang 0.5.23 on a processor | a Llama of random weights with gpt-oss' vocabulary | recordings, the parts of contract and [doctor](../proof/real/doctor-reports/sglang.md) that need no trained model |
| demo | built in | none | everything |
| trtllm | not run: needs an NVIDIA GPU | – | – |
| ollama | not run: [it did not build here](../proof/real/README.md) | – | – |
| fireworks | not run: needs an account | – | – |
| completions | not run: LM Studio needs a desktop, and others were not tried | – | – |

Tests replay the recordings in \`test/fixtures/recorded\`, and responses in \`test/fixtures/engines\`, written from the servers' sources and documentation. [proof/real](../proof/real/README.md) says how they
differ, and has the set-up scripts.

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
