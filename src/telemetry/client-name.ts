/** The program that sent a request, by its `user-agent`: `codex`, `openai-python`. For logs: lower-case, short, no version. */

/** Programs whose agent does not begin with the name that users know. */
const KNOWN: readonly (readonly [agent: RegExp, name: string])[] = [
  [/^codex[_/]/, "codex"],
  [/^claude-cli\//, "claude-code"],
  [/^(async)?openai\/python/, "openai-python"],
  [/^(async)?anthropic\/python/, "anthropic-python"],
  [/^mozilla\//, "browser"],
];

const MAX_AGENT_CHARS = 200;
const MAX_NAME_CHARS = 32;

/** Undefined: the client does not say. */
export function toClientName(userAgent: string | undefined): string | undefined {
  const agent = userAgent?.slice(0, MAX_AGENT_CHARS).trim().toLowerCase() ?? "";
  const known = KNOWN.find(([pattern]) => pattern.test(agent));
  if (known !== undefined) return known[1];
  const [name = "", part = ""] = agent.split(/\s/, 1)[0]?.split("/") ?? [];
  // `OpenAI/JS 5.1` has its language there, `curl/8.5` its version.
  const words = /^v?\d/.test(part) || part === "" ? name : `${name}-${part}`;
  return /^[\w.-]+/.exec(words)?.[0].slice(0, MAX_NAME_CHARS);
}
