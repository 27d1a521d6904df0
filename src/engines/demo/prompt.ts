/**
 * Parses the demo engine's prompt: ids to messages, and messages to the engine's input. Like a model it has no other input: no
 * request, no settings, no earlier call.
 */
import { isSpecial, o200kHarmony, SPECIAL_TOKENS, type TokenId } from "../../tokenizer/index.ts";
import { asObject, isObject, parseJson } from "../untyped-json.ts";
import { type DemoTool, readTools } from "./signature.ts";

/** The prompt, as far as the demo engine understands it. */
export interface DemoPrompt {
  readonly effort: "low" | "medium" | "high";
  readonly tools: readonly DemoTool[];
  /** Tools that the model was trained with and the system message offers: `browser`, `python`. */
  readonly namespaces: readonly string[];
  /** Text of the developer messages before tools and response formats. */
  readonly instructions: string;
  /**
   * JSON Schema of the answer: from the section `# Response Formats`, or from the text of the last question or the instructions.
   */
  readonly answerSchema: unknown;
  /** The last user message, without a schema in it. Empty: there is no user message. */
  readonly question: string;
  /** Number of user messages so far. */
  readonly userMessages: number;
  /** Calls made since the last user message, in order. */
  readonly calls: readonly DemoCall[];
  /** Analysis messages since the last user message. */
  readonly analysisCount: number;
  /** There is analysis since the last user message or tool result. */
  readonly hasAnalysis: boolean;
  /** The last complete message is a call of the assistant without a result. */
  readonly awaitsResult: boolean;
  /** The position at which the prompt ends. */
  readonly open: Open;
}

/** `result` is undefined until the tool has answered. */
export interface DemoCall {
  readonly tool: string;
  readonly input: string;
  readonly result: string | undefined;
}

export type Open =
  /** The prompt ends after a complete message. */
  | { readonly kind: "nothing" }
  /** The prompt ends inside a header. `pastChannel`: the channel token is written, the channel perhaps not. */
  | ({ readonly kind: "header"; readonly pastChannel: boolean } & Header)
  /** The prompt ends inside a body. */
  | {
      readonly kind: "body";
      readonly recipient: string | undefined;
      readonly channel: string | undefined;
      readonly written: readonly TokenId[];
    };

/** The words of a header. Words not written yet are undefined or empty. */
interface Header {
  readonly author: string;
  readonly recipient: string | undefined;
  readonly channel: string | undefined;
  readonly contentType: string | undefined;
}

interface ReadMessage extends Header {
  readonly body: string;
}

const { "<|start|>": START, "<|message|>": MESSAGE, "<|channel|>": CHANNEL } = SPECIAL_TOKENS;

export function readPrompt(ids: readonly TokenId[]): DemoPrompt {
  const { messages, open } = readMessages(ids);
  const lastUser = messages.findLastIndex((message) => message.author === "user");
  const sinceUser = messages.slice(lastUser + 1);
  const system = messages.find((message) => message.author === "system")?.body ?? "";
  const developer = messages
    .filter((message) => message.author === "developer")
    .map((message) => message.body);
  const instructions = developer.map(readInstructions).join("\n\n");
  const { question, schema } = readQuestion(messages[lastUser]?.body ?? "");
  const lastStep = sinceUser.findLastIndex(isToolResult);
  return {
    effort: readEffort(system),
    tools: readTools(developer.join("\n\n")),
    namespaces: Array.from(system.matchAll(/^## (browser|python)$/gm), ([, name = ""]) => name),
    instructions,
    answerSchema:
      readAnswerSchema(developer.at(-1) ?? "") ?? schema ?? findSchema(instructions)?.schema,
    question,
    userMessages: messages.filter((message) => message.author === "user").length,
    calls: readCalls(sinceUser),
    analysisCount: sinceUser.filter(isAnalysis).length,
    hasAnalysis: sinceUser.slice(lastStep + 1).some(isAnalysis),
    awaitsResult: messages.length > 0 && isCall(messages.at(-1)),
    open,
  };
}

function readMessages(ids: readonly TokenId[]): { messages: ReadMessage[]; open: Open } {
  const messages: ReadMessage[] = [];
  let at = 0;
  while (at < ids.length) {
    const start = ids.indexOf(START, at);
    if (start < 0) break;
    const message = ids.indexOf(MESSAGE, start);
    if (message < 0) return { messages, open: openHeader(ids.slice(start + 1)) };
    const header = readHeader(ids.slice(start + 1, message));
    const end = nextSpecial(ids, message + 1);
    if (end === ids.length) {
      const { recipient, channel } = header;
      return {
        messages,
        open: { kind: "body", recipient, channel, written: ids.slice(message + 1) },
      };
    }
    messages.push({ ...header, body: o200kHarmony().decode(ids.slice(message + 1, end)) });
    at = end + (ids[end] === START ? 0 : 1);
  }
  return { messages, open: { kind: "nothing" } };
}

function nextSpecial(ids: readonly TokenId[], from: number): number {
  for (let at = from; at < ids.length; at++) {
    if (isSpecial(ids[at] ?? 0)) return at;
  }
  return ids.length;
}

/** Reads both layouts: the recipient may be before or after the channel. */
function readHeader(ids: readonly TokenId[]): Header {
  const channelAt = ids.indexOf(CHANNEL);
  const [author = "", ...head] = words(channelAt < 0 ? ids : ids.slice(0, channelAt));
  const [channel, ...tail] = channelAt < 0 ? [] : words(ids.slice(channelAt + 1));
  const rest = [...head, ...tail];
  return {
    author,
    channel,
    recipient: rest.find((word) => word.startsWith("to="))?.slice("to=".length),
    contentType: rest.find((word) => !word.startsWith("to=")),
  };
}

function openHeader(ids: readonly TokenId[]): Open {
  return { kind: "header", ...readHeader(ids), pastChannel: ids.includes(CHANNEL) };
}

function words(ids: readonly TokenId[]): string[] {
  return o200kHarmony()
    .decode(ids)
    .split(/\s+/)
    .filter((word) => word !== "");
}

function isAnalysis(message: ReadMessage): boolean {
  return message.author === "assistant" && message.channel === "analysis" && !isCall(message);
}

function isCall(message: ReadMessage | undefined): boolean {
  return message?.author === "assistant" && message.recipient !== undefined;
}

function isToolResult(message: ReadMessage): boolean {
  return /^(?:[\w-]+\.|python$)/.test(message.author);
}

function readEffort(system: string): DemoPrompt["effort"] {
  const effort = /^Reasoning: (low|medium|high)$/m.exec(system)?.[1];
  return effort === "low" || effort === "high" ? effort : "medium";
}

/** Assigns results to calls of the same tool in order, for any number of concurrent calls. */
function readCalls(messages: readonly ReadMessage[]): DemoCall[] {
  const calls = messages
    .filter(isCall)
    .map((call) => ({ tool: toolName(call.recipient ?? ""), input: call.body }));
  const results = messages.filter(isToolResult);
  return calls.map((call) => {
    const index = results.findIndex((result) => toolName(result.author) === call.tool);
    const [result] = index < 0 ? [] : results.splice(index, 1);
    return { ...call, result: result?.body };
  });
}

function toolName(address: string): string {
  return address.replace(/^functions\./, "");
}

function readInstructions(developer: string): string {
  return developer.split(/^# (?:Tools|Response Formats)$/m)[0] ?? "";
}

function readQuestion(text: string): { question: string; schema: unknown } {
  const found = findSchema(text);
  if (found === undefined) return { question: text, schema: undefined };
  const { schema, start, end } = found;
  return { question: text.slice(0, start) + text.slice(end), schema };
}

/** Parses the last section: text before it may be part of the instructions. */
function readAnswerSchema(developer: string): unknown {
  const section = developer.split(/^# Response Formats\n\n## .*\n\n/m).slice(1);
  const json = section.at(-1)?.replace(/^(\/\/.*\n)*/, "");
  return json === undefined ? undefined : parseJson(json);
}

/** A JSON Schema in the text of a message, where clients write it if they cannot set a response format. */
interface SchemaInText {
  readonly schema: unknown;
  readonly start: number;
  readonly end: number;
}

/** Maximum failed attempts, each of which may have scanned the text to its end. */
const MAX_FAILURES = 8;

/** Finds the last schema: explanations and examples precede it. */
function findSchema(text: string): SchemaInText | undefined {
  const opening = /\{(?=\s*")/g;
  let found: SchemaInText | undefined;
  let failures = 0;
  for (let match = opening.exec(text); match !== null; match = opening.exec(text)) {
    const end = endOfObject(text, match.index);
    const value = parseJson(text.slice(match.index, end));
    if (value === undefined) {
      if (++failures === MAX_FAILURES) break;
      continue;
    }
    opening.lastIndex = end;
    if (isSchema(value)) found = { schema: value, start: match.index, end };
  }
  return found;
}

/** The offset after the brace that closes the one at `start`, or the end of the text. */
function endOfObject(text: string, start: number): number {
  const sign = /"(?:[^"\\]|\\.)*"|[{}]/gs;
  sign.lastIndex = start;
  let depth = 0;
  for (let match = sign.exec(text); match !== null; match = sign.exec(text)) {
    if (match[0] === "{") depth++;
    if (match[0] === "}" && --depth === 0) return sign.lastIndex;
  }
  return text.length;
}

function isSchema(value: unknown): boolean {
  const { properties } = asObject(value);
  return isObject(properties) && Object.keys(properties).length > 0;
}
