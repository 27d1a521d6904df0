/**
 * One constraint for a whole turn: free reasoning, followed by a constrained answer or call.
 *
 * This optimises steering for engines whose grammars can contain Harmony's special tokens. It saves the
 * second engine call, which otherwise begins at the header of the answer or call. All output is still
 * checked, so a server that ignores the constraint only loses the saving.
 */
import type { Constraint, Engine } from "../../engines/engine.ts";
import { SHARED_RULES, toJsonRules } from "../../engines/json-grammar.ts";
import { toCompactJson } from "../../harmony/json.ts";
import { CHANNEL, CONSTRAIN, END, MESSAGE, START } from "../../harmony/tokens.ts";
import type { TokenId } from "../../tokenizer/index.ts";
import type { Steering } from "./settings.ts";
import type { Turn } from "../turn.ts";
import type { TurnTools } from "../turn-tools.ts";

/** The allowed output after the reasoning. */
interface Endings {
  /** JSON Schema of the answer, as text. Absent: no answer is allowed. */
  readonly answer?: string;
  /** Functions that may be called, with the JSON Schemas of their arguments. */
  readonly calls: readonly { readonly recipient: string; readonly schema: string }[];
}

/**
 * Undefined if the operator has not enabled the constraint, the engine does not support it, or the turn has nothing to
 * constrain.
 */
export function toSingleCallConstraint(
  turn: Turn,
  tools: TurnTools,
  engine: Engine,
  steering: Steering,
): Constraint | undefined {
  if (!steering.singleCallConstraint || !turn.reasoning.enabled || turn.prefill !== undefined)
    return undefined;
  // Calls of gateway tools and trained tools would need a different form.
  if (turn.gatewayTools !== undefined || tools.hasMapped) return undefined;
  const endings = toEndings(turn, tools);
  if (endings === undefined) return undefined;
  const { constraints } = engine.capabilities;
  if (constraints.includes("structural-tag")) return toStructuralTag(endings);
  return constraints.includes("token-grammar") ? toTokenGrammar(endings) : undefined;
}

function toEndings({ toolChoice, answer }: Turn, tools: TurnTools): Endings | undefined {
  const callable = tools.allowed;
  // A text without JSON around it has no end that a grammar of the whole turn could express.
  if (callable.some(({ text }) => text !== undefined)) return undefined;
  const calls = callable.map(({ name, parameters, checker }) => {
    const recipient = tools.recipientOf(name);
    // Schemas that the gateway has not compiled are not sent: they may be huge, or rejected by the engine.
    const isHeld = parameters !== undefined && checker !== undefined;
    return { recipient, schema: isHeld ? toCompactJson(parameters) : ANY_OBJECT };
  });
  if (toolChoice.type === "required") return { calls };
  if (answer.type === "text") return undefined;
  const schema = answer.type === "json-schema" ? toCompactJson(answer.schema) : ANY_OBJECT;
  return { answer: schema, calls };
}

const ANY_OBJECT = '{"type":"object"}';

// xgrammar: vLLM, SGLang

/**
 * Longest white space between the tokens of a document. Without a limit, a model can write nothing else until its
 * tokens are used up; indented JSON needs far less. xgrammar applies the member from 0.2.4 on, and ignored it before.
 * The servers' own settings against white space do not affect structural tags.
 */
const MAX_WHITE_SPACE = 64;

function toStructuralTag({ answer, calls }: Endings): Constraint {
  const json = "<|constrain|>json<|message|>";
  const endings = [
    ...(answer === undefined ? [] : [document(`<|channel|>final ${json}`, answer)]),
    ...calls.flatMap(({ recipient, schema }) => [
      document(`<|channel|>commentary to=${recipient} ${json}`, schema),
      document(` to=${recipient}<|channel|>commentary ${json}`, schema),
    ]),
  ];
  const reasoning =
    '{"type":"optional","content":{"type":"sequence","elements":[' +
    '{"type":"tag","begin":"<|channel|>analysis<|message|>","content":{"type":"any_text"},"end":"<|end|>"},' +
    '{"type":"const_string","value":"<|start|>assistant"}]}}';
  const ending = `{"type":"or","elements":[${endings.join(",")}]}`;
  const format = `{"type":"sequence","elements":[${reasoning},${ending}]}`;
  return { type: "structural-tag", tag: `{"type":"structural_tag","format":${format}}` };
}

function document(begin: string, schema: string): string {
  const format = `"json_schema":${schema},"max_whitespace_cnt":${MAX_WHITE_SPACE}`;
  const content = `{"type":"json_schema",${format}}`;
  // xgrammar accepts stop tokens once the document is complete, so a tag cannot end with one.
  return `{"type":"tag","begin":${JSON.stringify(begin)},"content":${content},"end":["<|end|>",""]}`;
}

// llama.cpp

function toTokenGrammar({ answer, calls }: Endings): Constraint {
  const rules: string[] = [];
  const after = (header: string, schema: string, prefix: string) => {
    const parts = toJsonRules(schema, prefix);
    rules.push(parts.rules);
    return `${header} ${parts.document}`;
  };
  const json = `" " ${token(CONSTRAIN)} "json" ${token(MESSAGE)}`;
  const endings = [
    ...(answer === undefined
      ? []
      : [after(`${token(CHANNEL)} "final" ${json}`, answer, "answer-")]),
    ...calls.map(({ recipient, schema }, index) => {
      const to = JSON.stringify(` to=${recipient}`);
      const header =
        `(${token(CHANNEL)} "commentary" ${to} ${json} | ` +
        `${to} ${token(CHANNEL)} "commentary" ${json})`;
      return after(header, schema, `call-${index + 1}-`);
    }),
  ];
  const reasoning =
    `(${token(CHANNEL)} "analysis" ${token(MESSAGE)} !${token(END)}* ${token(END)} ` +
    `${token(START)} "assistant")?`;
  const grammar = `root ::= ${reasoning} (${endings.join(" | ")})\n${rules.join("")}${SHARED_RULES}`;
  return { type: "token-grammar", grammar };
}

function token(id: TokenId): string {
  return `<[${id}]>`;
}
