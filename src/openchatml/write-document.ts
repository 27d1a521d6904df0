/** Writes the messages of a document. Content that could not be read back unchanged is rejected. */
import { checkBody, checkHeader, checkTerminator } from "./checks.ts";
import { escapeControl } from "./control-tokens.ts";
import { hasHarmonyProfile, isCall } from "./document.ts";
import type { Document, Message, Terminator } from "./document.ts";
import { OpenChatMLError } from "./errors.ts";
import { FrameError, isHeaderValue } from "./frame.ts";
import { writeDocumentHeader } from "./header.ts";
import type { ArgumentCheck } from "./tool-schemas.ts";

type RenderMode = "history" | "training" | "completion";

export interface WriteOptions {
  /** The closing of messages. Absent: as in the document. */
  readonly mode?: RenderMode | undefined;
  readonly checkArguments?: ArgumentCheck | undefined;
}

export function writeDocument(
  { header, messages }: Document,
  { mode, checkArguments }: WriteOptions = {},
): string {
  const rules: Rules = { hip1: hasHarmonyProfile(header), ids: new Set(), checkArguments };
  const frames = messages.map((message, index) => {
    const isLast = index === messages.length - 1;
    const end = mode === undefined ? message.end : endIn(mode, message, isLast);
    return renderChecked({ ...message, end }, index, rules);
  });
  if (mode === "completion") frames.push("<|start|>assistant");
  return (header === null ? "" : writeDocumentHeader(header)) + frames.join("\n");
}

function endIn(mode: RenderMode, message: Message, isLast: boolean): Terminator {
  const { role, channel, end } = message;
  const answers = role === "assistant" && channel === "final" && end !== "call";
  if (mode === "training" && isLast && answers) return "return";
  return end === "return" ? "end" : end;
}

interface Rules {
  /** Whether the header has Harmony's profile, which requires channels. */
  readonly hip1: boolean;
  /** Ids of the calls so far. */
  readonly ids: Set<string>;
  readonly checkArguments: ArgumentCheck | undefined;
}

function renderChecked(given: Message, index: number, rules: Rules): string {
  try {
    const message = rules.hip1 ? withChannel(given) : given;
    const { channel, implicitChannel, ...header } = message;
    checkHeader({ ...header, ...(!implicitChannel && { channel }) }, { hip1: rules.hip1 });
    checkTerminator(message, message.end);
    checkBody(message, rules.checkArguments);
    if (isCall(message)) addId(message.callId, rules.ids);
    return renderMessage(message);
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    throw new OpenChatMLError(error.code, error.message, { messageIndex: index });
  }
}

/** The channel that Harmony writes if none is given. */
function withChannel({ implicitChannel, ...message }: Message): Message {
  const { role } = message;
  if (implicitChannel && role === "tool") return { ...message, channel: "commentary" };
  if (implicitChannel && role !== "assistant") return { ...message, implicitChannel };
  return message;
}

function addId(id: string | undefined, ids: Set<string>): void {
  if (id === undefined) return;
  if (ids.has(id)) throw new FrameError(`call_id=${id} is used by two calls`);
  ids.add(id);
}

function renderMessage(message: Message): string {
  const { role, channel, implicitChannel, constrain, content, end } = message;
  const start = [role, ...attributes(message)].join(" ");
  const isWritten = !(implicitChannel && channel === "final");
  return [
    `<|start|>${section(start)}`,
    isWritten ? `<|channel|>${channel}` : "",
    constrain === undefined ? "" : `<|constrain|>${section(value("constraint", constrain))}`,
    `<|message|>${renderBody(content)}<|${end}|>`,
  ].join("");
}

function attributes(message: Message): string[] {
  const { role, to, callId, name, intent, contentType } = message;
  if (role === "tool" && name === undefined) throw new FrameError("a tool needs a name");
  if (callId === undefined && (role === "tool" || isCall(message))) {
    throw new FrameError(`a ${role === "tool" ? "reply" : "call"} needs a call id`);
  }
  const first = { to, call_id: callId, name, intent, content_type: contentType };
  const replied = to ?? "assistant";
  const named = { name, call_id: callId, to: replied, intent, content_type: contentType };
  return Object.entries(role === "tool" ? named : first).flatMap(([key, text]) =>
    text === undefined ? [] : [`${key}=${value(`${key}=`, text)}`],
  );
}

function value(what: string, text: string): string {
  if (!isHeaderValue(text)) {
    const problem = "a header value is one word, without spaces and control characters";
    throw new FrameError(`${what} ${JSON.stringify(text)} cannot be written: ${problem}`);
  }
  return escapeControl(text);
}

/** Adds a space after a trailing `<`, because the next token would be read as an escape. */
function section(text: string): string {
  return text.endsWith("<") ? `${text} ` : text;
}

/** Writes a body. A trailing `<` is written in a literal block, because the next token would be read as an escape. */
function renderBody(content: string): string {
  const [run = ""] = /<+$/.exec(content) ?? [];
  const text = escapeControl(content.slice(0, content.length - run.length));
  return run === "" ? text : `${text}<|literal|>${run}<|endliteral|>`;
}
