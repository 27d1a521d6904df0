/**
 * The tools of a turn by name: determines how calls are written, read, checked and refused. Created once for each turn.
 */
import { functionRecipient } from "../harmony/messages.ts";
import type { SystemTool } from "../harmony/parse.ts";
import { isTrainedTool } from "../harmony/recipient.ts";
import type { ParsingOptions } from "./facts.ts";
import type { OfferedTool, Part, Turn } from "./turn.ts";

export class TurnTools {
  /** The functions that the tool choice lets the model call. */
  readonly allowed: readonly OfferedTool[];
  /** Some tools are trained ones, in place of the client's. */
  readonly hasMapped: boolean;
  /** Calls of some tools are held until their arguments are checked. */
  readonly holdsCalls: boolean;
  readonly #turn: Turn;
  readonly #byName: ReadonlyMap<string, OfferedTool>;
  /** Trained tools by the names of the client's tools. */
  readonly #byOwnName: ReadonlyMap<string, OfferedTool>;

  constructor(turn: Turn) {
    const { tools, toolChoice } = turn;
    this.#turn = turn;
    // If two tools have the same name, the first is used.
    const reversed = tools.toReversed();
    const mapped = reversed.flatMap((tool) =>
      tool.mapped === undefined ? [] : ([[tool.mapped.name, tool]] as const),
    );
    this.#byName = new Map(reversed.map((tool) => [tool.name, tool]));
    this.#byOwnName = new Map(mapped);
    this.hasMapped = mapped.length > 0;
    this.holdsCalls =
      toolChoice.type === "required" || this.hasMapped || tools.some(({ strict }) => strict);
    this.allowed = toAllowed(turn);
  }

  find(name: string): OfferedTool | undefined {
    return this.#byName.get(name);
  }

  /** The name by which the model knows the tool. */
  shownName(name: string): string {
    return this.find(name)?.shownAs ?? name;
  }

  /** The format of the tool's call bodies, which their header states if it is JSON. */
  bodyForm(name: string): "json" | "raw" {
    return this.find(name)?.text === undefined ? "json" : "raw";
  }

  /**
   * The recipient of calls to the tool with this name. A name that is not offered counts as a function's. Gateway tools
   * are named by their recipient.
   */
  recipientOf(name: string): string {
    const offered = this.find(name);
    if (offered === undefined && this.#isRun(name)) return name;
    return offered?.recipient ?? functionRecipient(name);
  }

  /**
   * The trained tool of a call, if it is shown in place of a client's tool. Models also write the end of a name,
   * `browser.search` for `repo_browser.search`: it is accepted if it can mean only one tool, which only reads, and the
   * other namespace is not offered.
   */
  findMapped(name: string): OfferedTool | undefined {
    if (!this.hasMapped) return undefined;
    const offered = this.find(name);
    if (offered !== undefined) return offered.mapped && offered;
    const [namespace = ""] = name.split(".");
    const { tools } = this.#turn;
    const isOffered =
      this.#isRun(name) ||
      tools.some((tool) => tool.name === namespace || tool.name.startsWith(`${namespace}.`));
    if (isOffered || !isTrainedTool(name)) return undefined;
    const ends = tools.filter((tool) => tool.mapped?.isRead && tool.name.endsWith(`_${name}`));
    return ends.length === 1 ? ends[0] : undefined;
  }

  /** The tool with this name, if its arguments must satisfy their schema. */
  findChecked(name: string): OfferedTool | undefined {
    const tool = this.find(name) ?? this.findMapped(name) ?? this.#findOwn(name);
    if (tool?.mapped !== undefined) return tool;
    if (tool === undefined || tool.text !== undefined) return undefined;
    return tool.strict || this.#turn.toolChoice.type === "required" ? tool : undefined;
  }

  /** Like {@link findChecked}, for the tool of a call. */
  checkedToolOf(part: Part | undefined): OfferedTool | undefined {
    return part?.kind === "tool-call" ? this.findChecked(part.name) : undefined;
  }

  /** The model's names of all tools that can be called now. */
  callableNames(): string[] {
    const run = this.#turn.gatewayTools?.tools ?? [];
    const trained = run.flatMap(({ namespace }) => {
      if (namespace === undefined) return [];
      const { name, functions } = namespace;
      return functions.length === 0 ? [name] : functions.map((each) => `${name}.${each.name}`);
    });
    const others = run.flatMap(({ functions = [] }) => functions);
    const own = this.allowed.map(({ name, shownAs = name }) => shownAs);
    return [...own, ...others.map(({ name }) => name), ...trained];
  }

  /** Returns the predicate for calls that are not passed on. */
  toRefused(refusesUnoffered: boolean): (name: string) => boolean {
    const { toolChoice, gatewayTools } = this.#turn;
    const offered = new Set(namesOf(this.allowed));
    if (toolChoice.type !== "auto" || refusesUnoffered) return (name) => !offered.has(name);
    if (gatewayTools === undefined) return () => false;
    // A client whose tools all run in the gateway cannot run a trained tool.
    return (name) => !offered.has(name) && (offered.size === 0 || isTrainedTool(name));
  }

  toParsingOptions(): ParsingOptions {
    const { tools, toolChoice, gatewayTools } = this.#turn;
    const shown = tools.flatMap(({ name, shownAs }) =>
      shownAs === undefined ? [] : ([[shownAs, name]] as const),
    );
    const run = gatewayTools?.tools ?? [];
    const functions = run.flatMap((tool) => tool.functions ?? []);
    return {
      ...(shown.length > 0 && { shownNames: new Map(shown) }),
      toolNames: [...new Set(namesOf(tools)), ...functions.map(({ name }) => name)],
      readsCalls: toolChoice.type === "none",
      textTools: tools.flatMap(({ name, text, mapped }) => {
        if (mapped?.isText) return [mapped.name];
        return text === undefined ? [] : [name];
      }),
      systemTools: run.flatMap(({ namespace, rawBody }): SystemTool[] =>
        namespace === undefined
          ? []
          : [
              {
                name: namespace.name,
                functions: namespace.functions.map(({ name }) => name),
                rawBody,
              },
            ],
      ),
    };
  }

  #isRun(name: string): boolean {
    return this.#turn.gatewayTools?.tools.some((tool) => tool.accepts(name)) ?? false;
  }

  /** The tool called by the client's name, although a trained tool is shown in its place. */
  #findOwn(name: string): OfferedTool | undefined {
    const tool = this.#byOwnName.get(name);
    if (tool?.mapped === undefined) return undefined;
    const { strict, checker, mapped } = tool;
    return {
      name,
      strict,
      ...(checker && { checker }),
      ...(mapped.isText && { text: { formats: [] } }),
    };
  }
}

function toAllowed({ tools, toolChoice }: Turn): readonly OfferedTool[] {
  if (toolChoice.type === "auto") return tools;
  if (toolChoice.type === "none") return [];
  return tools.filter(({ name }) => toolChoice.names.includes(name));
}

/** The callable names of tools. A client's instructions may name its tools, so the model may also use these names. */
function namesOf(tools: readonly OfferedTool[]): string[] {
  return tools.flatMap(({ name, mapped }) => (mapped ? [name, mapped.name] : [name]));
}
