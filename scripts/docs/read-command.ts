/** The kind of a documented command: a serving gateway, another command of the gateway, or any other command. */

export interface ReadCommand {
  readonly kind: "serve" | "gateway" | "other";
  /** Arguments of a gateway, without `serve`. */
  readonly args: readonly string[];
  /** Set before the command. */
  readonly variables: Readonly<Record<string, string>>;
}

/** Placeholders that readers replace. */
const PLACEHOLDERS: Readonly<Record<string, string>> = {
  "<hash>": "0".repeat(64),
  "<sealing-keys>": "0".repeat(43),
  "…": "secret",
};

export function fillPlaceholders(text: string): string {
  return text.replaceAll(/<[\w-]+>|…/g, (name) => PLACEHOLDERS[name] ?? name);
}

const OTHER_COMMANDS = new Set([
  "convert",
  "render",
  "parse",
  "replay",
  "doctor",
  "key",
  "store",
  "config",
  "connect",
]);

export function readCommand(command: string): ReadCommand {
  const words = toWords(fillPlaceholders(command));
  const first = words.findIndex((word) => !/^[A-Z_]+=/.test(word));
  const variables = Object.fromEntries(
    words.slice(0, first).map((word) => word.split(/=(.*)/s).slice(0, 2)),
  );
  const args = gatewayArgs(words.slice(first));
  if (args === undefined) return { kind: "other", args: [], variables };
  if (OTHER_COMMANDS.has(args[0] ?? "")) return { kind: "gateway", args, variables };
  return { kind: "serve", args: args.filter((arg) => arg !== "serve"), variables };
}

/** Split as a shell does: text in single quotes is one word. */
function toWords(command: string): readonly string[] {
  return [...command.matchAll(/(?:'[^']*'|[^\s'])+/g)].map(([word]) => word.replaceAll("'", ""));
}

/** Undefined if the command is not the gateway's. */
function gatewayArgs(words: readonly string[]): readonly string[] | undefined {
  const [program, ...args] = words;
  if (program === "harmony-gateway") return args;
  if (program === "npx" && args[0] === "harmony-gateway") return args.slice(1);
  if (program !== "npm" || args[0] !== "start") return undefined;
  return args.slice(args[1] === "--" ? 2 : 1);
}
