/**
 * Removes the keys of MCP servers from a request's body. Clients send them with the tool, as `authorization` or in
 * `headers`. Every other byte stays as it was sent.
 */

const LEFT_OUT = "[left out of the record]";

/** Returns a body that is not JSON or has no such keys unchanged, and an empty text for one that is nested too deeply. */
export function withoutToolKeys(body: string): string {
  if (!/authorization|headers|\\u/.test(body)) return body;
  try {
    return replaceKeys(body, JSON.parse(body));
  } catch (error) {
    return error instanceof SyntaxError ? body : "";
  }
}

function replaceKeys(body: string, value: unknown): string {
  const secrets = new Set<string>();
  for (const name of ["tools", "mcp_servers"]) findSecrets(member(value, name), secrets);
  if (secrets.size === 0) return body;
  let text = body;
  for (const secret of [...secrets].toSorted((a, b) => b.length - a.length)) {
    text = text.replaceAll(JSON.stringify(secret), JSON.stringify(LEFT_OUT));
  }
  const isLeft = (left: unknown): boolean =>
    typeof left === "string"
      ? secrets.has(left)
      : isObject(left) && Object.values(left).some(isLeft);
  // The client may have escaped characters, such as `\u002f`.
  return isLeft(JSON.parse(text)) ? JSON.stringify(value, replaceSecrets(secrets)) : text;
}

function findSecrets(tools: unknown, found: Set<string>): void {
  for (const tool of Array.isArray(tools) ? tools : []) {
    for (const name of ["authorization", "authorization_token"]) add(member(tool, name), found);
    const headers = member(tool, "headers");
    if (isObject(headers)) for (const each of Object.values(headers)) add(each, found);
  }
}

function add(value: unknown, found: Set<string>): void {
  if (typeof value === "string" && value !== "") found.add(value);
}

function replaceSecrets(secrets: ReadonlySet<string>) {
  return (_: string, value: unknown): unknown =>
    typeof value === "string" && secrets.has(value) ? LEFT_OUT : value;
}

function member(value: unknown, name: string): unknown {
  return isObject(value) ? Reflect.get(value, name) : undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
