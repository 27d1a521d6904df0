/** Random requests: valid ones with damaged body, address, method or headers. */
import { mutateBytes, mutateJson, toText } from "./json-mutation.ts";
import type { Random } from "./random.ts";
import type { RouteTemplate } from "./request-bodies.ts";

export interface RequestInput {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  /** The client disconnects after this many chunks of the answer. */
  readonly leavesAfter?: number;
}

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "QUERY", "x"];

const PATHS = [
  "/",
  "/v1",
  "/v1/",
  "/v1//responses",
  "/v1/%2e%2e/metrics",
  "/v1/responses/..%2f..%2fready",
  "/v1/responses/%00",
  "/v1/responses/%F0%9F%92%96",
  "/v1/responses/%ff%fe",
  "/v1/models/%",
  "/v1/models/..",
  `/v1/responses/${"x".repeat(3000)}`,
  "/v1/conversations/__proto__",
  "/v1/conversations/constructor/items",
  "/V1/CHAT/COMPLETIONS",
  "/v1/chat/completions/",
  "/open-responses/v1/models",
  "/api/v1/conversations",
  "/favicon.ico",
];

const QUERIES = [
  "",
  "?",
  "?stream=true",
  "?stream=maybe",
  "?starting_after=-1",
  "?starting_after=1e99",
  "?limit=0",
  "?limit=1000000",
  "?limit=x&order=sideways",
  "?after=nothing&before=nothing",
  "?include[]=x&include=y",
  "?__proto__[x]=1&constructor=2",
  "?%ff=%00&a=%",
  `?${"a=b&".repeat(200)}`,
];

const HEADERS: readonly (readonly [string, readonly string[]])[] = [
  [
    "content-type",
    [
      "text/plain",
      "application/xml",
      "multipart/form-data; boundary=x",
      "",
      "application/json; charset=utf-16",
      ";;;",
    ],
  ],
  ["content-length", ["0", "-1", "x", "99999999999", "1e3"]],
  ["transfer-encoding", ["chunked", "gzip"]],
  ["content-encoding", ["gzip", "br", "x"]],
  ["accept", ["text/event-stream", "x/y", ""]],
  [
    "authorization",
    ["Bearer", "Bearer  x y", "Basic eDp5", "bearer sk-x", "Bearer \u00ff", "x".repeat(5000)],
  ],
  [
    "origin",
    ["null", "http://localhost:3000", "https://elsewhere.example", "http://127.0.0.1.evil", "x"],
  ],
  ["host", ["localhost", "127.0.0.1:8787", "elsewhere.example", "[::1]", ""]],
  ["x-request-id", ["a", "a b", "x".repeat(300), "ünïcode", "<script>"]],
  ["last-event-id", ["5", "x"]],
  ["upgrade", ["websocket", "h2c"]],
  ["connection", ["upgrade", "close"]],
  ["sec-websocket-key", ["x"]],
  ["expect", ["100-continue", "x"]],
  ["range", ["bytes=0-1", "x"]],
  ["if-none-match", ["*"]],
  ["cookie", ["a=b; __proto__=c"]],
  ["x-forwarded-for", ["1.2.3.4", "x"]],
  ["http-referer", ["https://elsewhere.example"]],
  ["idempotency-key", ["x"]],
  ["openai-beta", ["responses_websockets=2026-02-06"]],
  ["access-control-request-method", ["POST", "x"]],
  ["access-control-request-headers", ["authorization, x-stainless-os"]],
];

/** The guarded addresses need a key, so most requests contain one. */
export function createRequestInput(
  templates: readonly RouteTemplate[],
  keys: readonly string[],
  random: Random,
): RequestInput {
  const template = random.pick(templates);
  const method = random.oneIn(40) ? random.pick(METHODS) : template.method;
  let path = random.oneIn(40) ? random.pick(PATHS) : template.path;
  if (random.oneIn(20)) path = path.replace(/\?.*$/, "") + random.pick(QUERIES);
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (!random.oneIn(30)) headers["authorization"] = `Bearer ${random.pick(keys)}`;
  while (random.oneIn(6)) {
    const [name, values] = random.pick(HEADERS);
    headers[name] = random.pick(values);
  }
  const hasBody = method !== "GET" && method !== "HEAD" && template.body !== undefined;
  return {
    method,
    path,
    headers,
    ...(hasBody && { body: createBody(template.body ?? null, random) }),
    ...(random.oneIn(25) && { leavesAfter: random.below(4) }),
  };
}

function createBody(valid: NonNullable<RouteTemplate["body"]> | null, random: Random) {
  const text = toText(mutateJson(valid, random));
  return random.oneIn(20) ? mutateBytes(text, random) : text;
}
