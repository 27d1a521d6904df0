/**
 * Converts turn events to the JSON text of `chat.completion.chunk`s.
 *
 * Each rule here is one a client breaks on (OpenRouter convention): role, ids, names and `format` once,
 * because accumulators join repeated strings; one kind of delta in a chunk; no null where an array or
 * object belongs; exactly one finish reason; usage never beside one.
 */
import type { Citation } from "../../turn/citations.ts";
import type { BuiltinCallResult, Part, TurnEnd, TurnEvent, TurnUsage } from "../../turn/turn.ts";
import { describeTurnFailure, type ErrorDescription } from "../errors.ts";
import { toErrorBody } from "./errors.ts";
import {
  mapFinishReason,
  PART_SEPARATOR,
  type ReplyOptions,
  toLogprobs,
  toSealedDetail,
  toSummaryDetail,
  toUsage,
} from "./reply.ts";
import { toAnnotation, toExecutedTool } from "./executed-tools.ts";
import { unwrapCustomInput } from "./to-completion.ts";

/** Writes the chunks of one choice. */
export interface ChunkWriter {
  /** The chunks of an event, each a JSON text: usually one, sometimes none. */
  push(event: TurnEvent): string[];
  /** The chunk that ends the choice after a failure. */
  fail(error: ErrorDescription): string;
}

/** Encrypted content for the client to send back: analysis, calls that the gateway ran, and their positions. */
interface Sealed {
  readonly text: string;
  /** The name, for a call that the gateway ran. */
  readonly isCall: boolean;
}

/** `index`: the choice's index among `n`. */
export function createChunkWriter(options: ReplyOptions, index: number): ChunkWriter {
  // A chunk differs from the next in its delta only, so the rest is serialised once: stringifying a
  // whole chunk costs 506 ns, prefix + delta + suffix 66 ns.
  const top = chunkPrefix(options);
  const prefix = `${top},"choices":[{"index":${index},"delta":{`;
  const suffix = '},"finish_reason":null,"native_finish_reason":null,"logprobs":null}]}';

  let role = '"role":"assistant",';
  let open: Extract<TurnEvent, { type: "part-start" }>["part"] | undefined;
  let reasoningFormat = ',"format":"unknown"';
  let separator = "";
  const written = { reasoning: false, content: false };
  /** Position of the open part's text in the message's, and its length so far. */
  const place = { start: 0, length: 0 };
  let executed = 0;
  let builtinText = "";
  let lastCall: Extract<Part, { kind: "builtin-call" }> | undefined;
  let calls = 0;
  const sealed = { waiting: [] as Sealed[], written: 0 };
  let summaries = 0;
  let customArguments = "";

  return { push, fail };

  function push(event: TurnEvent): string[] {
    switch (event.type) {
      case "start":
        return [];
      case "part-start":
        open = event.part;
        if (event.sealed !== undefined) sealed.waiting.push({ text: event.sealed, isCall: false });
        return [...(open.kind === "tool-call" ? sealedDetails() : []), ...start()];
      case "part-delta":
        return delta(event);
      case "part-end":
        return end(event);
      case "builtin-result":
        if (event.sealed !== undefined) sealed.waiting.push({ text: event.sealed, isCall: true });
        return [executedTool(event)];
      case "end":
        // Calls of the gateway are needed later only if a call of the client's follows.
        sealed.waiting = sealed.waiting.filter(({ isCall }) => !isCall);
        return [
          ...sealedDetails(),
          event.failure
            ? failed(describeTurnFailure(event.failure), event.nativeReason)
            : finish(event),
        ];
      default:
        return event satisfies never;
    }
  }

  function start(): string[] {
    switch (open?.kind) {
      case "reasoning":
        separator = written.reasoning ? PART_SEPARATOR : "";
        return [];
      case "preamble":
      case "content":
        separator = written.content ? PART_SEPARATOR : "";
        place.start = place.length + separator.length;
        return [];
      case "builtin-call":
        lastCall = open;
        builtinText = "";
        return [];
      case "tool-call": {
        const { id, name } = open;
        customArguments = "";
        if (options.legacyFunctions) {
          // The legacy form has room for one call.
          return calls++ > 0
            ? []
            : [chunk(`"function_call":{"name":${JSON.stringify(name)},"arguments":""}`)];
        }
        const body =
          options.customTools.has(name) || name === options.codeTool
            ? `"type":"custom","custom":{"name":${JSON.stringify(name)},"input":""}`
            : `"type":"function","function":{"name":${JSON.stringify(name)},"arguments":""}`;
        return [chunk(`"tool_calls":[{"index":${calls++},"id":${JSON.stringify(id)},${body}}]`)];
      }
      default:
        return [];
    }
  }

  function delta(event: Extract<TurnEvent, { type: "part-delta" }>): string[] {
    switch (open?.kind) {
      case "reasoning": {
        if (options.reasoning !== "text") return [];
        written.reasoning = true;
        const text = JSON.stringify(takeSeparator() + event.text);
        const mirror = options.mirrorReasoning ? `,"reasoning_content":${text}` : "";
        const format = reasoningFormat;
        reasoningFormat = "";
        return [
          chunk(
            `"content":"","reasoning":${text}${mirror},` +
              `"reasoning_details":[{"type":"reasoning.text","text":${text}${format},"index":0}]`,
          ),
        ];
      }
      case "preamble":
      case "content": {
        written.content = true;
        const shown = takeSeparator() + event.text;
        place.length += shown.length;
        const text = `"content":${JSON.stringify(shown)}`;
        if (event.citations && !event.logprobs) return [chunk(text), annotations(event.citations)];
        if (!event.logprobs) return [chunk(text)];
        const content = toLogprobs(event.logprobs);
        return [
          `${prefix}${takeRole()}${text}},"finish_reason":null,"native_finish_reason":null,` +
            `"logprobs":{"content":${JSON.stringify(content)},"refusal":null}}]}`,
          ...(event.citations ? [annotations(event.citations)] : []),
        ];
      }
      case "builtin-call":
        builtinText += event.text;
        return [];
      case "tool-call": {
        if (options.legacyFunctions) {
          return calls > 1
            ? []
            : [chunk(`"function_call":{"arguments":${JSON.stringify(event.text)}}`)];
        }
        if (open.name === options.codeTool) {
          const input = JSON.stringify(event.text);
          return [chunk(`"tool_calls":[{"index":${calls - 1},"custom":{"input":${input}}}]`)];
        }
        if (options.customTools.has(open.name)) {
          // Escapes can only be decoded in the whole string, so a custom input is sent in one delta.
          customArguments += event.text;
          return [];
        }
        return [
          chunk(
            `"tool_calls":[{"index":${calls - 1},"function":{"arguments":${JSON.stringify(event.text)}}}]`,
          ),
        ];
      }
      default:
        return [];
    }
  }

  function annotations(citations: readonly Citation[]): string {
    const entries = citations.map((each) => toAnnotation(each, place.start));
    return chunk(`"content":"","annotations":${JSON.stringify(entries)}`);
  }

  function executedTool(event: BuiltinCallResult): string {
    if (lastCall === undefined) return chunk('"content":""');
    const entry = toExecutedTool(lastCall, builtinText, event, executed++);
    return chunk(`"content":"","executed_tools":${JSON.stringify([entry])}`);
  }

  function end(event: Extract<TurnEvent, { type: "part-end" }>): string[] {
    const custom = open?.kind === "tool-call" && options.customTools.has(open.name);
    open = undefined;
    if (event.sealed !== undefined && options.reasoning === "sealed") {
      sealed.waiting.push({ text: event.sealed, isCall: false });
    }
    if (event.summary !== undefined) return summaryDetail(event.summary);
    if (!custom) return [];
    const input = JSON.stringify(unwrapCustomInput(customArguments));
    return [chunk(`"tool_calls":[{"index":${calls - 1},"custom":{"input":${input}}}]`)];
  }

  function summaryDetail(summary: string): string[] {
    if (options.reasoning !== "text" && options.reasoning !== "summary") return [];
    const details = [toSummaryDetail(summary, summaries++, options)];
    return [chunk(`"content":"","reasoning_details":${JSON.stringify(details)}`)];
  }

  /**
   * Sent in one chunk, before the first call or at the end: `openai`'s stream helper keeps only the last value of a field
   * it does not know.
   */
  function sealedDetails(): string[] {
    if (sealed.waiting.length === 0) return [];
    const details = sealed.waiting.map(({ text }) =>
      toSealedDetail(text, sealed.written++, options),
    );
    sealed.waiting = [];
    return [chunk(`"content":"","reasoning_details":${JSON.stringify(details)}`)];
  }

  function finish({ finish: reason, nativeReason }: TurnEnd): string {
    return (
      `${prefix}${takeRole()}"content":""},"finish_reason":"${mapFinishReason(reason, options)}",` +
      `"native_finish_reason":${JSON.stringify(nativeReason)},"logprobs":null}]}`
    );
  }

  /** The engine has not reported a finish reason. */
  function fail(error: ErrorDescription): string {
    return failed(error, "error");
  }

  function failed(error: ErrorDescription, nativeReason: string | null): string {
    return (
      `${top},"error":${JSON.stringify(toErrorBody(error).error)},"choices":[{"index":${index},` +
      `"delta":{${takeRole()}"content":""},"finish_reason":"error",` +
      `"native_finish_reason":${JSON.stringify(nativeReason)},"logprobs":null}]}`
    );
  }

  function chunk(fields: string): string {
    return prefix + takeRole() + fields + suffix;
  }

  function takeRole(): string {
    const taken = role;
    role = "";
    return taken;
  }

  function takeSeparator(): string {
    const taken = separator;
    separator = "";
    return taken;
  }
}

/**
 * The last chunk. In OpenAI's form it has no choices; otherwise one empty choice, because LangChain's
 * ChatOpenRouter reads usage only from a chunk that has one.
 */
export function usageChunk(usage: TurnUsage, options: ReplyOptions): string {
  const choices = options.usageWithoutChoices
    ? "[]"
    : '[{"index":0,"delta":{"content":""},"finish_reason":null,"native_finish_reason":null,"logprobs":null}]';
  return `${chunkPrefix(options)},"choices":${choices},"usage":${JSON.stringify(toUsage(usage))}}`;
}

function chunkPrefix({ id, created, model, provider }: ReplyOptions): string {
  const fields = { id, object: "chat.completion.chunk", created, model, provider };
  return JSON.stringify(fields).slice(0, -1);
}
