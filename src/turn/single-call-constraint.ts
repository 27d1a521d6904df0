/**
 * One constraint for a whole turn: the thought is free, and what comes after it is of a form.
 *
 * An optimisation of steering, for engines that understand Harmony's tokens inside a constraint: it saves the
 * engine call that begins at the answer's or the call's header. Everything is checked as without it, and a
 * server that ignores it costs nothing but that call.
 */
import type { Constraint, Engine } from "../engines/engine.ts";
import { SHARED_RULES, toJsonRules } from "../engines/json-grammar.ts";
import { toCompactJson } from "../harmony/json.ts";
import { CHANNEL, CONSTRAIN, END, MESSAGE, START } from "../harmony/tokens.ts";
import type { TokenId } from "../tokenizer/index.ts";
import type { Steering } from "./steering.ts";
import type { Turn } from "./turn.ts";

/** What may come after the thought. */
interface Endings {
  /** The schema of the answer, as JSON text. Absent: no answer may come. */
  readonly answer?: string;
  /** Functions that may be called, with the schema of their arguments. */
  readonly calls: readonly { readonly name: string; readonly schema: string }[];
}

/** Undefined when the operator does not want it, the engine has none, or the turn demands nothing of the kind. */
export function toSingleCallConstraint(
  turn: Turn,
  engine: Engine,
  steering: Steering,
): Constraint | undefined {
  if (!steering.singleCallConstraint || !turn.reasoning.enabled || turn.prefill !== undefined)
    return undefined;
  const endings = toEndings(turn);
  if (endings === undefined) return undefined;
  const { constraints } = engine.capabilities;
  if (constraints.includes("structural-tag")) return toStructuralTag(endings);
  return constraints.includes("token-grammar") ? toTokenGrammar(endings) : undefined;
}

function toEndings(turn: Turn): Endings | undefined {
  const { toolChoice, answer } = turn;
  const names =
    toolChoice.type === "auto" || toolChoice.type === "none"
      ? turn.tools.map((tool) => tool.name)
      : toolChoice.names;
  const calls = turn.tools
    .filter((tool) => names.includes(tool.name))
    .map(({ name, parameters, checker }) => {
      // An engine gets no schema that has not been compiled: it may be enormous, or one that the engine refuses.
      const isHeld = parameters !== undefined && checker !== undefined;
      return { name, schema: isHeld ? toCompactJson(parameters) : ANY_OBJECT };
    });
  if (toolChoice.type === "required") return { calls };
  if (answer.type === "text") return undefined;
  const schema = answer.type === "json-schema" ? toCompactJson(answer.schema) : ANY_OBJECT;
  return { answer: schema, calls };
}

const ANY_OBJECT = '{"type":"object"}';

// xgrammar: vLLM, SGLang

function toStructuralTag({ answer, calls }: Endings): Constraint {
  const json = "<|constrain|>json<|message|>";
  const endings = [
    ...(answer === undefined ? [] : [document(`<|channel|>final ${json}`, answer)]),
    ...calls.flatMap(({ name, schema }) => [
      document(`<|channel|>commentary to=functions.${name} ${json}`, schema),
      document(` to=functions.${name}<|channel|>commentary ${json}`, schema),
    ]),
  ];
  const thought =
    '{"type":"optional","content":{"type":"sequence","elements":[' +
    '{"type":"tag","begin":"<|channel|>analysis<|message|>","content":{"type":"any_text"},"end":"<|end|>"},' +
    '{"type":"const_string","value":"<|start|>assistant"}]}}';
  const ending = `{"type":"or","elements":[${endings.join(",")}]}`;
  const format = `{"type":"sequence","elements":[${thought},${ending}]}`;
  return { type: "structural-tag", tag: `{"type":"structural_tag","format":${format}}` };
}

function document(begin: string, schema: string): string {
  const content = `{"type":"json_schema","json_schema":${schema}}`;
  // Stop tokens are let through once the document is complete, so a tag cannot end with one.
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
    ...calls.map(({ name, schema }, index) => {
      const to = JSON.stringify(` to=functions.${name}`);
      const header =
        `(${token(CHANNEL)} "commentary" ${to} ${json} | ` +
        `${to} ${token(CHANNEL)} "commentary" ${json})`;
      return after(header, schema, `call-${index + 1}-`);
    }),
  ];
  const thought =
    `(${token(CHANNEL)} "analysis" ${token(MESSAGE)} !${token(END)}* ${token(END)} ` +
    `${token(START)} "assistant")?`;
  const grammar = `root ::= ${thought} (${endings.join(" | ")})\n${rules.join("")}${SHARED_RULES}`;
  return { type: "token-grammar", grammar };
}

function token(id: TokenId): string {
  return `<[${id}]>`;
}
