/** The program that sent a request, by its `user-agent`: `codex`, `openai-python`. For logs: lower-case, short, no version. */

/** Programs whose `user-agent` does not begin with their common name. */
const KNOWN: readonly (readonly [agent: RegExp, name: string])[] = [
  [/^codex[_/]/, "codex"],
  [/^claude-cli\//, "claude-code"],
  [/^(async)?openai\/python/, "openai-python"],
  [/^(async)?anthropic\/python/, "anthropic-python"],
  [/^mozilla\//, "browser"],
];

const MAX_AGENT_CHARS = 200;
const MAX_NAME_CHARS = 32;

/** Undefined: the client sends no name. */
export function toClientName(userAgent: string | undefined): string | undefined {
  const agent = userAgent?.slice(0, MAX_AGENT_CHARS).trim().toLowerCase() ?? "";
  const known = KNOWN.find(([pattern]) => pattern.test(agent));
  if (known !== undefined) return known[1];
  const [name = "", part = ""] = agent.split(/\s/, 1)[0]?.split("/") ?? [];
  // In `OpenAI/JS 5.1` this part is a language, in `curl/8.5` a version.
  const words = /^v?\d/.test(part) || part === "" ? name : `${name}-${part}`;
  return /^[\w.-]+/.exec(words)?.[0].slice(0, MAX_NAME_CHARS);
}
