/** Mounts APIs in the application: their routes, with each API's authentication and error envelope. */
import { type Context, Hono, type HonoRequest } from "hono";
import { methodNotAllowed } from "hono/method-not-allowed";
import { type Api, type Services, OPENAI_PREFIXES } from "./api.ts";
import type { Authenticate } from "./auth.ts";
import { type ApiEnv, obeyRecordHeader, RECORD_HEADER } from "./request/client.ts";
import { toErrorResponse } from "./reply/error-response.ts";
import { type ErrorReader, RequestError, toError } from "./errors.ts";
import { limitBody } from "./middleware/limit-body.ts";
import { recordExchange } from "./middleware/record-exchange.ts";

/** Formats an error in the envelope of the API that claims the request. */
export type ApiErrorHandler = (error: unknown, c: Context<ApiEnv>) => Response;

/** The first API that claims a request. The last one of `apis` claims every request. */
export function findApi(apis: readonly Api[], request: HonoRequest): Api {
  const api = apis.find((each) => each.claims(request));
  if (api === undefined) throw new Error("the last API must claim every request");
  return api;
}

export function createApiErrorHandler(apis: readonly Api[], reader?: ErrorReader): ApiErrorHandler {
  return (error, c) => {
    const request = { id: c.get("requestId"), path: c.req.path };
    return toErrorResponse(error, findApi(apis, c.req).errorEnvelope, request, reader);
  };
}

/** Answers unknown paths, and known paths with an unsupported method. Must precede all routes. */
export function refuseUnknown(
  app: Hono<ApiEnv>,
  apis: readonly Api[],
  toResponse: ApiErrorHandler,
): void {
  // This is middleware because an application that mounts this one inherits middleware, but not `notFound`.
  app.use(
    methodNotAllowed({
      app,
      onMethodNotAllowed(c, methods) {
        const response = toResponse(wrongMethod(methods), c);
        response.headers.set("allow", methods.join(", "));
        return response;
      },
    }),
  );
  app.notFound((c) => toResponse(notFound(c.req.path, apis), c));
}

export function mountApis(
  app: Hono<ApiEnv>,
  apis: readonly Api[],
  authenticate: Authenticate,
  services: Services,
): void {
  const limitBodies = limitBody(services.settings.maxBodyBytes, services.uploads);
  const mounts = apis.flatMap((api) => api.routes(services));
  const { recorder } = services;
  for (const prefix of new Set(mounts.map((each) => each.prefix))) {
    app.use(`${prefix}/*`, async (c, next) => {
      const api = findApi(apis, c.req);
      const client = authenticate(c.req, api.authentication);
      // `await` costs a microtask even for a plain value.
      const known = client instanceof Promise ? await client : client;
      c.set("client", obeyRecordHeader(known, c.req.header(RECORD_HEADER)));
      try {
        return await limitBodies(c, next);
      } catch (error) {
        // Node's server aborts with a text. Hono passes only `Error` objects to the error handler, after which the
        // request is logged.
        throw toError(error);
      }
    });
    if (recorder !== undefined) app.use(`${prefix}/*`, recordExchange(apis, recorder));
  }
  for (const mount of mounts) app.route(mount.prefix, mount.app);
  const unsupported = unsupportedPaths(toAlternatives(apis));
  for (const prefix of OPENAI_PREFIXES) app.route(prefix, unsupported);
}

function wrongMethod(methods: readonly string[]): RequestError {
  const allow = methods.join(", ");
  return new RequestError(`This path supports ${allow} only.`, { status: 405 });
}

function notFound(path: string, apis: readonly Api[]): RequestError {
  const meant = toKnownPaths(apis).find((each) => path === each || path.startsWith(`${each}/`));
  const hint = meant === undefined ? toAlternatives(apis) : `Did you mean /v1${meant}?`;
  return new RequestError(`There is no route with this path. ${hint}`, { status: 404 });
}

function toAlternatives(apis: readonly Api[]): string {
  const paths = toKnownPaths(apis).map((path) => `/v1${path}`);
  return `There are ${paths.slice(0, -1).join(", ")} and ${paths.at(-1)}; /api lists all routes.`;
}

/** The API that claims every request comes first, since most clients use it. */
function toKnownPaths(apis: readonly Api[]): readonly string[] {
  const byUse = [...apis.slice(-1), ...apis.slice(0, -1)];
  return [...byUse.map(({ turnPath }) => turnPath), "/models"];
}

/** @param alternatives a sentence that names the paths that exist. */
function unsupportedPaths(alternatives: string): Hono<ApiEnv> {
  const routes = new Hono<ApiEnv>();
  for (const [path, sentence] of Object.entries(UNSUPPORTED)) {
    routes.all(path, () => {
      throw new RequestError(`${sentence} ${alternatives}`, { status: 404 });
    });
  }
  return routes;
}

const ONLY_TEXT = "gpt-oss reads and writes text only.";

const UNSUPPORTED: Readonly<Record<string, string>> = {
  "/completions":
    "There are no text completions here: the gateway writes gpt-oss's prompt format itself, from messages.",
  "/embeddings": "There are no embeddings here: gpt-oss does not make any.",
  "/moderations": "There are no moderations here.",
  "/images/*": `There are no images here: ${ONLY_TEXT}`,
  "/audio/*": `There is no audio here: ${ONLY_TEXT}`,
  "/realtime": `There is no realtime API here: ${ONLY_TEXT}`,
  "/files": "No files are kept here.",
  "/files/*": "No files are kept here.",
  "/batches": "There are no batches here.",
  "/batches/*": "There are no batches here.",
  "/assistants": "There is no Assistants API here; the Responses API has replaced it.",
  "/assistants/*": "There is no Assistants API here; the Responses API has replaced it.",
  "/threads": "There is no Assistants API here; the Responses API has replaced it.",
  "/threads/*": "There is no Assistants API here; the Responses API has replaced it.",
};
