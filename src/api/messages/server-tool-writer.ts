/** Writes the blocks of calls that the gateway runs: a call's own, and after it that of its result. */
import type { BuiltinCallPart, BuiltinCallResult } from "../../turn/turn.ts";
import type { ContentBlocks } from "./content-blocks.ts";
import { type ReplyOptions, toContainer } from "./reply.ts";
import {
  serverToolName,
  toResultBlock,
  toServerToolInput,
  toServerToolUse,
} from "./server-tool-blocks.ts";

/** Code is streamed. Other input is sent when it is complete; for `web_fetch`, together with the result. */
export class ServerToolWriter {
  readonly #options: ReplyOptions;
  readonly #blocks: ContentBlocks;
  /** The latest call, with its input as the model wrote it. */
  #call: { readonly part: BuiltinCallPart; text: string } | undefined;
  #container: ReturnType<typeof toContainer> = null;

  constructor(options: ReplyOptions, blocks: ContentBlocks) {
    this.#options = options;
    this.#blocks = blocks;
  }

  /** The container that the message names at its end. */
  get container(): ReturnType<typeof toContainer> {
    return this.#container;
  }

  start(part: BuiltinCallPart): string {
    this.#call = { part, text: "" };
    const name = serverToolName(part);
    if (name === undefined || name === "web_fetch") return "";
    const started = this.#blocks.startInput(toServerToolUse(part, name, {}));
    return name === "code_execution" ? started + this.#blocks.delta('{"code":"') : started;
  }

  delta(part: BuiltinCallPart, text: string): string {
    if (this.#call) this.#call.text += text;
    const isCode = serverToolName(part) === "code_execution";
    return isCode ? this.#blocks.delta(JSON.stringify(text).slice(1, -1)) : "";
  }

  end(part: BuiltinCallPart): string {
    const name = serverToolName(part);
    if (name === undefined || name === "web_fetch") return "";
    const input = toServerToolInput(name, this.#call?.text ?? "", undefined);
    const rest = name === "code_execution" ? '"}' : JSON.stringify(input);
    return this.#blocks.delta(rest) + this.#blocks.stop();
  }

  result(result: BuiltinCallResult): string {
    const part = this.#call?.part;
    const name = part && serverToolName(part);
    if (part === undefined || name === undefined) return "";
    const { block, carries } = toResultBlock(part, result);
    const container = result.failed ? null : toContainer(result.shown, this.#options);
    this.#container = container ?? this.#container;
    const fetched = name === "web_fetch" ? this.#wholeFetch(part, result) : "";
    return fetched + this.#blocks.whole(block) + (carries ? "" : this.#sealedCall(result));
  }

  #wholeFetch(part: BuiltinCallPart, { shown }: BuiltinCallResult): string {
    const input = toServerToolInput("web_fetch", this.#call?.text ?? "", shown);
    const started = this.#blocks.startInput(toServerToolUse(part, "web_fetch", {}));
    return started + this.#blocks.delta(JSON.stringify(input)) + this.#blocks.stop();
  }

  /** The encrypted call, for clients that send thinking blocks back. */
  #sealedCall({ sealed }: BuiltinCallResult): string {
    return this.#options.thinking === "none" || !sealed ? "" : this.#blocks.signed(sealed);
  }
}
