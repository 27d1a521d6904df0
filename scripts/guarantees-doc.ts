/** `docs/guarantees.md`: what a request can demand, and how it is kept on each engine, made from the capabilities. */
import { FAULTS } from "../fuzz/turns/faults.ts";
import type { Capabilities } from "../src/engines/engine.ts";
import { ENGINE_KINDS, ENGINES } from "../src/engines/create-engine.ts";
import { formatNames } from "../src/json-schema/formats.ts";

interface Demand {
  /** The fields of the request that make it. */
  readonly fields: string;
  readonly how: (engine: Capabilities) => string;
}

const constrains = (type: Capabilities["constraints"][number]) => (engine: Capabilities) =>
  engine.constraints.includes(type) ? "native" : "checked";
const samples = (name: Capabilities["sampling"][number]) => (engine: Capabilities) =>
  engine.sampling.includes(name) ? "native" : "ignored";
const steered = () => "steered";

const DEMANDS: readonly Demand[] = [
  { fields: "`tool_choice`: required, a named tool", how: steered },
  { fields: "– which of several functions", how: constrains("choice") },
  { fields: "– their arguments, and those of `strict` tools", how: constrains("json-schema") },
  { fields: "`tool_choice`: none, allowed_tools", how: steered },
  { fields: "`parallel_tool_calls`: false", how: steered },
  { fields: "`response_format`: json_schema", how: constrains("json-schema") },
  { fields: "`response_format`: json_object", how: constrains("json-object") },
  {
    fields: "`reasoning.max_tokens`",
    how: ({ idsOut }) =>
      idsOut === "none" || idsOut === "unmarked" ? "steered, at most" : "steered",
  },
  { fields: "`reasoning.effort`: none", how: steered },
  { fields: "`stop`", how: steered },
  { fields: "`max_completion_tokens`", how: steered },
  { fields: "`n`", how: steered },
  { fields: "a trailing assistant message", how: steered },
  {
    fields: "`logprobs`, `top_logprobs`",
    how: ({ logprobs }) => (logprobs ? "native" : "refused"),
  },
  { fields: "`seed`", how: samples("seed") },
  { fields: "`logit_bias`", how: samples("logitBias") },
  { fields: "`frequency_penalty`, `presence_penalty`", how: samples("frequencyPenalty") },
  { fields: "`repetition_penalty`", how: samples("repetitionPenalty") },
  { fields: "`top_k`", how: samples("topK") },
  { fields: "`min_p`", how: samples("minP") },
  {
    fields: "typed control tokens stay text",
    how: ({ idsIn }) => (idsIn ? "by ids" : "altered visibly"),
  },
];

const HEAD = `# Guarantees

<!-- Made by scripts/write-guarantees-doc.ts from the engines' capabilities: change it there. -->

What a request demands holds on every engine, with the model's reasoning intact. The demand never reaches into the
thought: a schema applies to the answer or to a call's arguments alone, a stop string to the answer alone.

- **native**: the engine is asked to hold the model to it, for that one message. The result is checked all the same.
- **steered**: the gateway does it, with one or more engine calls over one growing prompt.
- **checked**: the engine cannot hold the model to it. What the model wrote is kept back until it has been checked, the
  model is told what was wrong and tries once more, and if it is still wrong the choice ends with
  \`finish_reason: "error"\`. Nothing wrong is ever given out as right.
- **refused**: a 400 that names the field. **ignored**: no effect, as OpenRouter does with sampling parameters.

`;

const TAIL = `
## How

**A required call.** The model thinks freely until it closes its thought. Then the header of a call is appended, up to
the function's name. If there are several functions the model names one (one short engine call), and its arguments are
written under the schema of that function. Two engine calls for one function, three for several.

**An answer of a form.** The schema stands in the developer message, and where the engine can be constrained the
request is stopped at the answer's header and continued under the schema. The ids that structure Harmony are banned
meanwhile, because a JSON grammar lets them through inside strings. Two engine calls; the second begins with the whole
prompt of the first, so it costs what is new. Preambles are shown as reasoning in such a turn: text beside a document
would make it none. A document that the token limit cuts is cut, with \`finish_reason: "length"\`.

**Schemas that must hold** are JSON Schema, draft 2020-12: those of response formats, of \`strict\` tools and of tools that
must be called. They are compiled with the request, and one that cannot be checked is a 400 before the engine is asked;
its \`param\` names the field (\`tools[3].function.parameters\`), its message the place in the schema and the reason. All
other tools are only shown to the model: their schemas are never refused, and no engine is asked to hold calls to them.

- *Enforced*: every keyword of the core, applicator, unevaluated and validation vocabularies, and from earlier drafts
  \`definitions\`, \`dependencies\`, \`items\` with a list and \`additionalItems\`. \`format\` is enforced for
  ${formatNames().join(", ")}; other formats and unknown keywords demand nothing.
- *References* stay inside the schema: \`$ref\` to \`$defs\`, pointers, \`$id\` and \`$anchor\`. Nothing is fetched. A
  \`$dynamicRef\` with one possible target is a \`$ref\`; with several it is refused, like \`$recursiveRef\`. Schemas may be
  recursive, but must go down the value: what applies itself to the same value again is refused.
- *Patterns* are ECMAScript's with the \`u\` flag, \`\\p{…}\` included, and matched in linear time. That excludes lookbehind,
  backreferences, inline flags, counts over 1000, and lookahead other than right after a leading \`^\`, as in
  \`^(?=.*\\d)(?!admin).+$\`. Such a pattern is refused, never skipped. Needless escapes (\`\\_\`, \`\\@\`) are accepted.
- *Limits* for the schemas of all tools together, and for a response format: 6,000 subschemas, 500 different patterns
  with 50,000 instructions and 100 Unicode properties, 20,000 \`const\` and \`enum\` values or members of them. For one
  schema: 5,000 schemas applied to one value, 64 deep, once references are followed.
- *Checking* an answer takes at most the size of the schema times the size of the answer, counts its steps and lets
  other requests run between slices. What takes more than ten million steps, or nests too deeply, counts as not valid.

**In one call.** With the setting \`singleCallConstraint\`, engines that understand Harmony's tokens inside a constraint (structural
tags: vLLM, SGLang; token grammars: llama.cpp) are given one for the whole turn, in which the thought is free, and both of
the above take one engine call. A server that ignores it costs that call and no more: the result is checked, and steered
as without it. In llama.cpp the larger grammar made no measurable difference for the tokens (14.2 against 14.6 ms each,
\`node bench/single-call-constraint.ts\`, the tests' tiny model on two busy cores). It has not been measured on a real vLLM, which is one
reason why it is off by default.

**Thought and answer** are told apart by the model's control tokens. A text engine that hides them is refused with
status 502, because an odd answer would show a thought; so is text without any of them, as long as its engine has shown none (\`allowHiddenMarkers\` reads the words that are left instead: then
this page holds as far as those can be recognised).

**A budget for reasoning.** When the thought has used it up it is closed and the answer is opened; with tools the model
may choose a call instead, but begins no second thought. On engines that give only text, tokens are counted by our own
tokenizer and the thought may end a little early. \`effort: "none"\` opens the answer at once, or with tools closes an
empty thought; that is ours, gpt-oss has no such level. A thought that the model begins all the same is closed at its
first token and not shown. The tokens of its header are counted as output, because they were sampled.

**No answer.** A turn that ends with a thought alone has its answer opened once (setting \`openMissingAnswer\`). A thought
that has begun to repeat itself is cut (\`repetitionGuard\`), at the same token in whatever reads it arrives. With \`answerReserve\` a thought cannot use up the tokens of
the answer.

**Calls.** A call that may not be made is answered with an error the client does not see; the second time the answer is
opened. A tool nobody offered is passed on by default, so that the client can say so (\`refuseUnofferedTools\` turns
it into the former). gpt-oss stops after each call; \`sampleMoreCalls\` asks it whether there is another.

**Stop strings** are matched on the answer's text, across any pieces; the text before is kept and the match is not
returned. The engine never sees them. In Chat Completions a preamble and the answer are one text: a match that begins
in the preamble ends the answer before its first character. The preamble has been shown by then, so the part of the
match in it stays, and a stop string that preambles hold by themselves does not end the turn: the call behind them would
be lost. A match that begins in the answer and reaches into a preamble behind it ends the turn before that preamble. With
a response format the text before a stop string must be the whole document. It is checked like any other, so
half a document is tried once more and then ends with \`finish_reason: "error"\`.

**A trailing assistant message** is the beginning of the answer, which is continued. Where it cannot be that, because a
call is required or because no document of the response format begins with it, it is a message of the history.

**Usage** counts the prompt once, as first sent, and all tokens that were sampled, those of discarded attempts included.
\`cached_tokens\` is what the engine reports for the first engine call. It is 0 where the gateway ends that call early,
because engines report it at the end of a call only; later calls find the whole first prompt cached and say nothing of it.

## How it is checked

\`npm run fuzz:turns -- --n 100000 --seed 1\` plays random turns through the whole application: a model that writes
Harmony as gpt-oss does, with its odd headers, broken messages, cut characters, wrong JSON and endless thoughts, behind
an engine that gives exact ids, control tokens by id and text, text with the markers, or text without them
(\`--wire ids|pieces|markers|text\`); requests with random demands through each API (\`--api chat|responses\`), streamed
and plain. It knows what the model wrote, so it checks that every token of the answer comes once and in order, that
nothing changes sides between thought and answer, and every promise above. What breaks one is printed at its
smallest, with the command that plays it again. A small search is part of the tests.

\`npm run fuzz:planted\` shows that the search is not blind. It puts one defect after the other into the gateway, and
each is found, most within a few turns:

${FAULTS.map(({ name, rules }) => `- ${name} (${rules.map((rule) => `\`${rule}\``).join(", ")})`).join("\n")}
`;

export function toGuaranteesDocument(): string {
  const rows = [
    `| | ${ENGINE_KINDS.join(" | ")} |`,
    `| --- | ${ENGINE_KINDS.map(() => "---").join(" | ")} |`,
    ...DEMANDS.map(({ fields, how }) => {
      const cells = ENGINE_KINDS.map((kind) => how(ENGINES[kind].capabilities));
      return `| ${fields} | ${cells.join(" | ")} |`;
    }),
  ];
  return `${HEAD}${rows.join("\n")}\n${TAIL}`;
}
