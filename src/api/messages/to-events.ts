/**
 * Converts turn events to server-sent events, as text.
 *
 * The SDK's accumulator sets the rules: blocks open and close one after the other, indexes are contiguous, a
 * signature comes once and last in its block (it is assigned, not appended), and a tool's partial input is
 * always a prefix of JSON.
 */
import type { Citation } from "../../turn/citations.ts";
import type { BuiltinCallResult, Part, TurnEnd, TurnEvent } from "../../turn/turn.ts";
import { describeTurnFailure, type ErrorDescription } from "../errors.ts";
import { sseFrame } from "../sse.ts";
import { toMessagesError } from "./errors.ts";
import { CALLER, type ReplyOptions, toContainer, toFirstUsage, toStop, toUsage } from "./reply.ts";
import {
  cutAtCitations,
  serverToolName,
  toResultBlock,
  toServerToolInput,
  toServerToolUse,
  toTextCitation,
} from "./server-tool-blocks.ts";
import { createToolInput, type ToolInput } from "./tool-input.ts";

export interface EventWriter {
  /** The frames of an event: often one, sometimes none. */
  push(event: TurnEvent): string;
}

/** The frame that ends a stream after a failure. */
export function errorFrame(error: ErrorDescription): string {
  return frame("error", `"error":${JSON.stringify(toMessagesError(error))}`);
}

/** The keep-alive frame. */
export const PING = sseFrame('{"type": "ping"}', "ping");

export function createEventWriter(options: ReplyOptions): EventWriter {
  let index = 0;
  let open: Part | undefined;
  let input: ToolInput | undefined;
  /** JSON before the text of the open block's deltas. */
  let deltaHead = "";
  /** Thinking that is shown only in a tool loop or before a preamble. */
  let held: string[] = [];
  let hasCall = false;
  /** The open text part: the number of characters emitted, in total and in the open block. */
  const given = { part: 0, block: 0 };
  /** The open block has a citation, so further text begins a new block. */
  let isCited = false;
  let container: ReturnType<typeof toContainer> = null;
  let ran: { readonly part: BuiltinPart; text: string } | undefined;

  return { push };

  function push(event: TurnEvent): string {
    switch (event.type) {
      case "start":
        return messageStart(event.promptTokens);
      case "part-start":
        open = event.part;
        return startPart(open);
      case "part-delta":
        return delta(event.text, event.citations);
      case "part-end":
        return endPart(event.sealed);
      case "builtin-result":
        return builtinResult(event);
      case "end":
        return end(event);
      default:
        return event satisfies never;
    }
  }

  function messageStart(inputTokens: number): string {
    const message = {
      id: options.id,
      type: "message",
      role: "assistant",
      model: options.model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      stop_details: null,
      container: null,
      usage: toFirstUsage(inputTokens),
    };
    return frame("message_start", `"message":${JSON.stringify(message)}`);
  }

  function startPart(part: Part): string {
    switch (part.kind) {
      case "reasoning":
        return options.thinking === "text"
          ? startBlock(THINKING, "thinking_delta", "thinking")
          : "";
      case "content":
        held = [];
        return startText(true);
      case "preamble":
        return heldThinking() + startText(true);
      case "tool-call": {
        input = createToolInput();
        hasCall = true;
        const { id, name } = part;
        const block = JSON.stringify({ type: "tool_use", id, name, input: {}, caller: CALLER });
        return heldThinking() + startBlock(block, "input_json_delta", "partial_json");
      }
      case "builtin-call":
        ran = { part, text: "" };
        return heldThinking() + startServerTool(part);
      default:
        return part satisfies never;
    }
  }

  function startText(isFirst: boolean): string {
    if (isFirst) given.part = 0;
    given.block = 0;
    isCited = false;
    return startBlock(TEXT, "text_delta", "text");
  }

  /** Code is streamed. Other input is sent when it is complete; for `web_fetch`, with the result. */
  function startServerTool(part: BuiltinPart): string {
    const name = serverToolName(part);
    if (name === undefined || name === "web_fetch") return "";
    const block = JSON.stringify(toServerToolUse(part, name, {}));
    const started = startBlock(block, "input_json_delta", "partial_json");
    return name === "code_execution" ? started + inputDelta('{"code":"') : started;
  }

  function endServerTool(part: BuiltinPart): string {
    const name = serverToolName(part);
    if (name === undefined || name === "web_fetch") return "";
    const whole = toServerToolInput(name, ran?.text ?? "", undefined);
    return inputDelta(name === "code_execution" ? '"}' : JSON.stringify(whole)) + stopBlock();
  }

  function inputDelta(json: string): string {
    return `${deltaHead}${JSON.stringify(json)}}}\n\n`;
  }

  function builtinResult(result: BuiltinCallResult): string {
    const part = ran?.part;
    const name = part && serverToolName(part);
    if (part === undefined || name === undefined) return "";
    const { block, carries } = toResultBlock(part, result);
    container = (result.failed ? null : toContainer(result.shown, options)) ?? container;
    return (
      (name === "web_fetch" ? wholeFetch(part, result) : "") +
      startBlock(JSON.stringify(block), "", "") +
      stopBlock() +
      (carries || options.thinking === "none" || !result.sealed ? "" : signedBlock(result.sealed))
    );
  }

  function wholeFetch(part: BuiltinPart, { shown }: BuiltinCallResult): string {
    const block = JSON.stringify(toServerToolUse(part, "web_fetch", {}));
    const whole = toServerToolInput("web_fetch", ran?.text ?? "", shown);
    const started = startBlock(block, "input_json_delta", "partial_json");
    return started + inputDelta(JSON.stringify(whole)) + stopBlock();
  }

  /** Split into blocks: a block ends after a citation. */
  function textDelta(text: string, citations: readonly Citation[]): string {
    if (citations.length === 0 && !isCited) {
      given.part += text.length;
      given.block += text.length;
      return `${deltaHead}${JSON.stringify(text)}}}\n\n`;
    }
    let frames = "";
    for (const piece of cutAtCitations(text, citations, given.part)) {
      if (piece.text !== "") {
        if (isCited && given.block > 0) frames += stopBlock() + startText(false);
        given.block += piece.text.length;
        frames += `${deltaHead}${JSON.stringify(piece.text)}}}\n\n`;
      }
      for (const citation of piece.citations) {
        if (given.block > 0) isCited = true;
        const json = JSON.stringify({
          type: "citations_delta",
          citation: toTextCitation(citation),
        });
        frames += frame("content_block_delta", `"index":${index},"delta":${json}`);
      }
    }
    given.part += text.length;
    return frames;
  }

  function delta(text: string, citations: readonly Citation[] = []): string {
    if (open?.kind === "reasoning" && options.thinking !== "text") return "";
    if (open?.kind === "builtin-call") {
      if (ran) ran.text += text;
      const isCode = serverToolName(open) === "code_execution";
      return isCode ? inputDelta(JSON.stringify(text).slice(1, -1)) : "";
    }
    if (open?.kind === "preamble" || open?.kind === "content") return textDelta(text, citations);
    if (open?.kind !== "tool-call") return `${deltaHead}${JSON.stringify(text)}}}\n\n`;
    const written = input?.push(text) ?? "";
    return written === "" ? "" : `${deltaHead}${JSON.stringify(written)}}}\n\n`;
  }

  function endPart(sealed: string | undefined): string {
    const part = open;
    open = undefined;
    switch (part?.kind) {
      case "reasoning":
        return endThinking(sealed ?? "");
      case "preamble":
      case "content":
        return stopBlock();
      case "tool-call": {
        const rest = input?.end() ?? "";
        return (rest === "" ? "" : `${deltaHead}${JSON.stringify(rest)}}}\n\n`) + stopBlock();
      }
      case "builtin-call":
        return endServerTool(part);
      case undefined:
        return "";
      default:
        return part satisfies never;
    }
  }

  function endThinking(sealed: string): string {
    switch (options.thinking) {
      case "text":
        return signature(sealed) + stopBlock();
      case "signature":
        return signedBlock(sealed);
      case "before-output":
        held.push(sealed);
        return "";
      case "none":
        return "";
      default:
        return options.thinking satisfies never;
    }
  }

  /** A thinking block with a signature only. */
  function signedBlock(sealed: string): string {
    return startBlock(THINKING, "thinking_delta", "thinking") + signature(sealed) + stopBlock();
  }

  function heldThinking(): string {
    const signatures = held;
    held = [];
    return signatures.map((sealed) => signedBlock(sealed)).join("");
  }

  function end(turn: TurnEnd): string {
    if (turn.failure) return errorFrame(describeTurnFailure(turn.failure));
    const usage = JSON.stringify(toUsage(turn.usage));
    const stop = JSON.stringify({ ...toStop(turn), container });
    const members = `"delta":${stop},"usage":${usage}`;
    return (
      (hasCall ? heldThinking() : "") +
      frame("message_delta", members) +
      sseFrame('{"type":"message_stop"}', "message_stop")
    );
  }

  /** `text`: the member of the delta that contains its text. */
  function startBlock(block: string, deltaType: string, text: string): string {
    // The deltas of a block differ in their text only, so the rest is serialised once.
    deltaHead =
      "event: content_block_delta\n" +
      `data: {"type":"content_block_delta","index":${index},"delta":{"type":"${deltaType}","${text}":`;
    return frame("content_block_start", `"index":${index},"content_block":${block}`);
  }

  function signature(sealed: string): string {
    const text = JSON.stringify({ type: "signature_delta", signature: sealed });
    return frame("content_block_delta", `"index":${index},"delta":${text}`);
  }

  function stopBlock(): string {
    return frame("content_block_stop", `"index":${index++}`);
  }
}

type BuiltinPart = Extract<Part, { kind: "builtin-call" }>;

const THINKING = '{"type":"thinking","thinking":"","signature":""}';
const TEXT = '{"type":"text","text":"","citations":null}';

/** `members` as JSON text without braces. */
function frame(type: string, members: string): string {
  return sseFrame(`{"type":"${type}",${members}}`, type);
}
