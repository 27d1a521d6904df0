/**
 * Runs a call to a tool of the gateway: the result is appended to the transcript, and the model continues. The
 * transcript only grows, so the engine's prefix cache is used.
 */
import { sentLength } from "../prompt/transcript.ts";
import type { Message } from "../../harmony/conversation.ts";
import { callMessage, resultMessage } from "../../harmony/messages.ts";
import type { TokenId } from "../../tokenizer/index.ts";
import type { GatewayCall, GatewayTool, ShownCall } from "../../tools/gateway-tool.ts";
import type { Outcome } from "../steering/decision.ts";
import type { WrittenCall } from "../output/open-call.ts";
import { ConsumerStopped } from "../output/turn-output.ts";
import { runInSlices } from "../../streams/slices.ts";
import type { ApprovedCall, TurnEvent } from "../turn.ts";
import { appendMessage, openMessage, parseWritten, type TurnState } from "../turn-state.ts";

/** Runs the call that the model has just completed. */
export async function runGatewayCall(state: TurnState): Promise<Outcome> {
  const { emitter, gatewayTools } = state;
  const written = emitter.takeGatewayCall();
  if (written === undefined || gatewayTools === undefined)
    return { type: "tool-ran", end: "answered" };
  const { part, body } = written;
  const call: GatewayCall = { id: part.id, recipient: part.name, body };
  if (part.awaitsApproval) return { type: "tool-ran", end: "awaits-approval" };
  const tool = gatewayTools.find(part.name);
  const outcome = tool && (await gatewayTools.run(tool, call));
  const result = outcome?.type === "result" ? outcome.result : undefined;
  const fitted = await fit(state, result?.text ?? NO_CALLS_LEFT);
  const messages = toMessages(written, fitted.text, tool);
  const definition = gatewayTools.define(part.name, fitted.text);
  const added = definition === undefined ? [] : [definition];
  const length = added.reduce(
    (sum, each) => sum + state.renderer.renderMessage(each).ids.length,
    0,
  );
  const fits = fitted.fits && length <= fitted.left;
  state.usage.addToolOutput(fitted.tokens + (fits ? length : 0));
  appendMessage(state, state.prefixes.endOfCall, messages[1], ...(fits ? added : []));
  const saved = tool && gatewayTools.saveOne(tool);
  const reason = outcome?.type === "exhausted" ? "limit" : result?.reason;
  const event: TurnEvent = {
    type: "builtin-result",
    id: part.id,
    shown: result?.shown ?? describe(tool, call, fitted.text),
    failed: result?.failed ?? true,
    ...(reason !== undefined && { reason }),
    messages,
    ...(tool && saved !== undefined && { state: { tool: tool.name, saved } }),
  };
  if (!(await state.output.emit([event]))) throw new ConsumerStopped();
  if (state.turn.gatewayTools?.isInterrupted?.()) return { type: "tool-ran", end: "interrupted" };
  return { type: "tool-ran", end: result === undefined || !fits ? "exhausted" : "answered" };
}

function describe(tool: GatewayTool | undefined, call: GatewayCall, text: string): ShownCall {
  // If no tool accepts the call, its body is shown unchanged.
  if (tool === undefined) return { type: "code", code: call.body, containerId: "", outputs: [] };
  return tool.describe(call, text);
}

/** The messages of the call and its result. Function calls are on commentary, other calls on the model's channel. */
function toMessages(
  { part, raw, header }: WrittenCall,
  text: string,
  tool: GatewayTool | undefined,
): [Message, Message] {
  if (part.origin !== undefined || tool?.functions !== undefined)
    return [callMessage(part.name, raw), resultMessage(part.name, text)];
  const { channel = "analysis", contentType, order, isJoined } = header ?? {};
  const written = {
    channel,
    ...(contentType !== undefined && { contentType }),
    ...(order !== undefined && { order }),
    ...(isJoined !== undefined && { isJoined }),
  };
  return [
    { role: "assistant", recipient: part.name, ...written, content: raw },
    { role: "tool", name: part.name, recipient: "assistant", channel, content: text },
  ];
}

/** Appends a call as if the model had just made it. */
export function writeGatewayCall(state: TurnState, approved: ApprovedCall): void {
  const { transcript, tokenizer, emitter, prefixes } = state;
  const { recipient, body } = approved;
  emitter.approved = approved;
  openMessage(state, prefixes.builtinCall(recipient));
  const ids: readonly TokenId[] = [...tokenizer.encode(body), prefixes.endOfCall];
  transcript.appendIds(ids);
  parseWritten(state, ids);
  emitter.approved = undefined;
}

const NO_CALLS_LEFT = "Error: no more tool calls are available. Answer now.";

/** Maximum tokens of one result, however much context is left. */
const MAX_RESULT_TOKENS = 32_768;
/** Maximum characters that are encoded: ordinary text of {@link MAX_RESULT_TOKENS} tokens is shorter. */
const MAX_RESULT_LENGTH = 8 * MAX_RESULT_TOKENS;
/** Tokens reserved for the answer, unless the operator reserves more; at most a quarter of the context. */
const ANSWER_ROOM = 1024;
/** Tokens for the markers and names around a result, and for the note that it was cut. */
const FRAME = 64;

interface Fitted {
  readonly text: string;
  readonly tokens: number;
  /** False: hardly any of the result fitted, so further results would not fit either. */
  readonly fits: boolean;
  /** Tokens that still fit after the result. */
  readonly left: number;
}

/** Cuts the result to leave room for an answer, and adds a note to the text. */
async function fit(state: TurnState, text: string): Promise<Fitted> {
  const { tokenizer, contextLength, steering, engine, transcript, pause, signal } = state;
  const reserve = Math.max(
    steering.answerReserve,
    Math.min(ANSWER_ROOM, Math.floor((contextLength ?? Infinity) / 4)),
  );
  const left =
    contextLength === undefined
      ? MAX_RESULT_TOKENS
      : contextLength - sentLength(transcript.prompt(), engine.capabilities) - reserve - FRAME;
  const room = Math.max(0, Math.min(left, MAX_RESULT_TOKENS));
  const known = text.slice(0, MAX_RESULT_LENGTH);
  const ids = await runInSlices(tokenizer.encodeInSteps(known), { pause, signal, check() {} });
  if (known === text && ids.length <= room) {
    return { text, tokens: ids.length, fits: true, left: room - ids.length };
  }
  const kept = tokenizer.decode(ids.slice(0, room)).replace(/\uFFFD$/, "");
  const note = `[The result was cut here: ${room} tokens of it fit.]`;
  const fits = left >= LEAST_RESULT;
  return {
    text: kept === "" ? note : `${kept}\n${note}`,
    tokens: Math.min(ids.length, room),
    fits,
    left: 0,
  };
}

/** Minimum tokens left for a result. Below it, a message tells the model to answer. */
const LEAST_RESULT = 256;
