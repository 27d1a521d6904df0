/** Every judge that can be run with packages and public repositories alone, without an account. */
import * as z from "zod";
import { type Check, type Judge, readJunit, readResult, statusList } from "./judge.ts";

/** The tests of vitest's report. */
const vitestReport = z.object({
  testResults: z.array(
    z.looseObject({
      assertionResults: z.array(z.looseObject({ fullName: z.string(), status: z.string() })),
    }),
  ),
});

const llmprobeReport = z.looseObject({
  conformance: z.looseObject({
    results: z.array(
      z.looseObject({
        id: z.string(),
        outcome: z.enum(["pass", "fail", "inconclusive", "skipped", "unsupported"]),
      }),
    ),
  }),
});

const rollouts = z.array(
  z.looseObject({
    test_case: z.number(),
    tool_name: z.string(),
    success: z.boolean().optional(),
    result: z.looseObject({ apiType: z.string(), validResponse: z.boolean() }).optional(),
  }),
);

const promptfooReport = z.looseObject({
  results: z.looseObject({
    results: z.array(
      z.looseObject({
        success: z.boolean(),
        provider: z.looseObject({ label: z.string().optional(), id: z.string() }),
        testCase: z.looseObject({ description: z.string() }),
      }),
    ),
  }),
});

const guidellmReport = z.looseObject({
  benchmarks: z.array(
    z.looseObject({
      metrics: z.looseObject({
        request_totals: z.looseObject({
          successful: z.number(),
          incomplete: z.number(),
          errored: z.number(),
        }),
      }),
    }),
  ),
});

/** llm-comply's formats, and the base URL for each. */
const LLM_COMPLY_FORMATS = {
  "openai-chat": "$GATEWAY_URL",
  "open-responses": "${GATEWAY_URL%/v1}/open-responses/v1",
  anthropic: "$GATEWAY_URL",
};

export const JUDGES: readonly Judge[] = [
  {
    name: "langchain",
    title: "LangChain's standard tests, Python",
    url: "https://github.com/langchain-ai/langchain/tree/master/libs/standard-tests",
    version: "langchain-tests 1.1.9, langchain-openai 1.7.4",
    judges: "Chat Completions, Responses",
    setUp: `python3 -m venv .
bin/pip install --quiet langchain-tests==1.1.9 langchain-openai==1.7.4`,
    files: ["langchain.py"],
    // The client keeps its connections, so that all tests need one event loop.
    run: `bin/python -m pytest -q -p no:cacheprovider -o asyncio_mode=auto -o asyncio_default_test_loop_scope=session \\
  -o asyncio_default_fixture_loop_scope=session --junit-xml=junit.xml langchain.py`,
    results: ["junit.xml"],
    read: (folder) => readJunit(folder, "junit.xml"),
  },
  {
    name: "langchain-js",
    title: "LangChain's standard tests, JavaScript",
    url: "https://github.com/langchain-ai/langchainjs/tree/main/internal/standard-tests",
    version: "commit 62fc484b, @langchain/openai 1.6.0",
    judges: "Chat Completions, Responses",
    // They are not published on npm. Their tsconfig extends one of the whole repository. Without its own configuration,
    // vitest takes that of this project.
    setUp: `git clone -q --no-checkout https://github.com/langchain-ai/langchainjs repo
git -C repo checkout -q 62fc484b2a0d1ec5b8bebff4a8a0efe6300ada72 -- internal/standard-tests
rm repo/internal/standard-tests/tsconfig.json
echo 'export default {};' > vitest.config.mjs
echo '{"private":true,"type":"module"}' > package.json
npm install --no-audit --no-fund --ignore-scripts @langchain/core@1.2.13 @langchain/openai@1.6.0 vitest@3.2.6 zod@4.4.3`,
    files: ["langchain.test.mjs"],
    run: "node_modules/.bin/vitest run --root . --testTimeout=120000 --reporter=json --outputFile=result.json",
    results: ["result.json"],
    read(folder) {
      const report = readResult(folder, "result.json", vitestReport);
      const tests = report?.testResults.flatMap(({ assertionResults }) => assertionResults) ?? [];
      return tests.map(({ fullName, status }): Check => ({
        name: fullName,
        outcome: status === "passed" ? "passed" : status === "failed" ? "failed" : "skipped",
      }));
    },
  },
  {
    name: "open-responses",
    title: "Open Responses' compliance suite",
    url: "https://github.com/openresponses/openresponses",
    version: "commit 5fac8d59 (29 January 2026)",
    judges: "Responses below `/open-responses/v1`",
    setUp: `git clone -q --no-checkout https://github.com/openresponses/openresponses repo
git -C repo checkout -q 5fac8d59ffe003391d6a7bada77918c1a17ca1bd -- bin src
mv repo/bin repo/src .
echo '{"private":true,"type":"module"}' > package.json
npm install --no-audit --no-fund --ignore-scripts zod@3.25.76 tsx@4.23.15`,
    run: 'node_modules/.bin/tsx bin/compliance-test.ts -u "${GATEWAY_URL%/v1}/open-responses/v1" -k none -m "$MODEL" --json > result.json',
    results: ["result.json"],
    read: (folder) => toChecks(readResult(folder, "result.json", statusList)),
  },
  {
    name: "llm-comply",
    title: "llm-comply",
    version: "0.5.0",
    judges: "Chat Completions, Responses below `/open-responses/v1`, Messages",
    setUp: `python3 -m venv .
bin/pip install --quiet llm-comply==0.5.0`,
    run: Object.entries(LLM_COMPLY_FORMATS)
      .map(
        ([format, url]) =>
          `bin/llm-comply -u "${url}" -k none -m "$MODEL" --format ${format} --json > ${format}.json || true`,
      )
      .join("\n"),
    results: Object.keys(LLM_COMPLY_FORMATS).map((format) => `${format}.json`),
    read: (folder) =>
      Object.keys(LLM_COMPLY_FORMATS).flatMap((format) =>
        toChecks(readResult(folder, `${format}.json`, statusList)).map(({ name, outcome }) => ({
          name: `${format}: ${name}`,
          outcome,
        })),
      ),
  },
  {
    name: "llmprobe",
    title: "llmprobe",
    version: "0.6.12",
    judges: "Chat Completions, Responses, Messages, models, counting of tokens",
    setUp: `echo '{"private":true,"type":"module"}' > package.json
npm install --no-audit --no-fund --ignore-scripts llmprobe@0.6.12`,
    run: 'node node_modules/llmprobe/bin/dist/llmprobe.mjs "$GATEWAY_URL" -k none -m "$MODEL" --no-bench --no-save --no-color --save result.json',
    results: ["result.json"],
    read(folder) {
      const report = readResult(folder, "result.json", llmprobeReport);
      const OUTCOMES = { pass: "passed", fail: "failed" } as const;
      return (report?.conformance.results ?? []).map(({ id, outcome }): Check => ({
        name: id,
        outcome: outcome === "pass" || outcome === "fail" ? OUTCOMES[outcome] : "skipped",
      }));
    },
  },
  {
    name: "gpt-oss",
    title: "gpt-oss' compatibility test",
    url: "https://github.com/openai/gpt-oss/tree/main/compatibility-test",
    version: "commit 7b583341",
    judges: "Chat Completions, Responses",
    setUp: `git clone -q --no-checkout https://github.com/openai/gpt-oss repo
git -C repo checkout -q 7b583341fe16729127f6d5b94a7b09ccae97e1a1 -- compatibility-test
mv repo/compatibility-test/* .
npm ci --no-audit --no-fund --ignore-scripts
npm install --no-audit --no-fund --ignore-scripts --no-save tsx@4.23.15`,
    // It keeps the servers that it can ask in a module, and names its output after the time.
    run: `cat > providers.ts <<END
export const PROVIDERS = {
  gateway: { apiBaseUrl: "$GATEWAY_URL", apiKey: "none", apiType: ["responses", "chat"], modelName: "$MODEL" },
};
END
rm -f rollout_*.jsonl
node_modules/.bin/tsx index.ts --provider gateway -k 1
node -e 'console.log("[" + fs.readFileSync(process.argv[1], "utf8").trim().split("\\n").join() + "]")' rollout_*.jsonl > result.json`,
    results: ["result.json"],
    read: (folder) =>
      (readResult(folder, "result.json", rollouts) ?? []).flatMap(
        ({ test_case: number, tool_name: tool, success = false, result }): Check[] => [
          {
            name: `${number} ${tool}, ${result?.apiType}: tool called`,
            outcome: success ? "passed" : "failed",
          },
          {
            name: `${number} ${tool}, ${result?.apiType}: valid response`,
            outcome: result?.validResponse === true ? "passed" : "failed",
          },
        ],
      ),
  },
  {
    name: "inspect",
    title: "Inspect",
    url: "https://github.com/UKGovernmentBEIS/inspect_ai",
    version: "inspect-ai 0.3.285",
    judges: "Chat Completions, Responses, Messages; tools, an agent, a schema",
    setUp: `python3 -m venv .
bin/pip install --quiet inspect-ai==0.3.285 openai==3.51.0 anthropic==2.12.0`,
    files: ["inspect_eval.py"],
    run: "bin/python inspect_eval.py",
    results: ["result.json"],
    read: (folder) => toChecks(readResult(folder, "result.json", statusList)),
  },
  {
    name: "promptfoo",
    title: "promptfoo",
    url: "https://github.com/promptfoo/promptfoo",
    version: "0.123.1",
    judges: "Chat Completions, Responses, Messages",
    setUp: `echo '{"private":true,"type":"module"}' > package.json
npm install --no-audit --no-fund promptfoo@0.123.1`,
    files: ["promptfoo.json"],
    run: `export PROMPTFOO_CONFIG_DIR="$PWD/home" PROMPTFOO_DISABLE_TELEMETRY=1 PROMPTFOO_DISABLE_UPDATE=1
export OPENAI_BASE_URL="$GATEWAY_URL" ANTHROPIC_BASE_URL="\${GATEWAY_URL%/v1}" OPENAI_API_KEY=none ANTHROPIC_API_KEY=none
node_modules/.bin/promptfoo eval --no-cache --no-progress-bar --no-table -c promptfoo.json -o result.json`,
    results: ["result.json"],
    read(folder) {
      const report = readResult(folder, "result.json", promptfooReport);
      return (report?.results.results ?? []).map(({ success, provider, testCase }): Check => ({
        name: `${provider.label ?? provider.id}: ${testCase.description}`,
        outcome: success ? "passed" : "failed",
      }));
    },
  },
  {
    name: "guidellm",
    title: "guidellm",
    url: "https://github.com/vllm-project/guidellm",
    version: "0.8.1",
    judges: "Chat Completions under load, streamed",
    setUp: `python3 -m venv .
bin/pip install --quiet guidellm==0.8.1`,
    files: ["prompts.jsonl"],
    run: `export HF_HUB_OFFLINE=1
bin/guidellm run --backend "kind=openai_http,target=\${GATEWAY_URL%/v1},model=$MODEL" --profile kind=concurrent,streams=4 \\
  --constraint kind=max_requests,count=20 --data kind=json_file,path=prompts.jsonl --output kind=json,path=result.json --disable-console`,
    results: ["result.json"],
    read(folder) {
      const report = readResult(folder, "result.json", guidellmReport);
      return (report?.benchmarks ?? []).flatMap(({ metrics }) => {
        const { successful, incomplete, errored } = metrics.request_totals;
        return [
          ...many("request answered", successful, "passed"),
          ...many("request failed", errored + incomplete, "failed"),
        ];
      });
    },
  },
];

function many(name: string, times: number, outcome: Check["outcome"]): Check[] {
  return Array.from({ length: times }, () => ({ name, outcome }));
}

function toChecks(list: z.infer<typeof statusList> | undefined): Check[] {
  return (list?.results ?? []).map(({ id, status }) => ({ name: id, outcome: status }));
}
