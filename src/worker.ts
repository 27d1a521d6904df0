/**
 * The entry for Cloudflare Workers: settings from bindings, one application per isolate. Variables and secrets have the
 * same names as on Node, `HARMONY_GATEWAY_…`. JSON variables may be given as JSON.
 */
import { assemble, type ExecutionContext, newRandomId } from "./gateway.ts";
import { createProbing } from "./models/probing.ts";
import { upgradeWebSocket } from "hono/cloudflare-workers";
import { toErrorBody } from "./api/chat-completions/errors.ts";
import { errorCodesAt } from "./api/error-codes.ts";
import type { ErrorDescription } from "./api/errors.ts";
import type { Settings } from "./config/settings.ts";
import { describedSettings } from "./config/describe.ts";
import { leaveOutNodeOnly, nodeOnlyValues } from "./config/node-only.ts";
import { resolveSettings, SettingsError } from "./config/resolve.ts";
import { fromText } from "./config/from-text.ts";
import type { SettingInput } from "./config/setting-input.ts";
import { createFetchTransport } from "./engines/fetch-transport.ts";
import { createStaticAssets, isAssetFetcher } from "./pages/static-assets.ts";
import { createLog } from "./telemetry/log.ts";
import { reportStatus } from "./telemetry/report-status.ts";
import { openBinding } from "./store/open-binding.ts";
import { requestByFetch } from "./tools/browser/fetch-page.ts";
import { openBrowser } from "./tools/browser/open-browser.ts";
import { createHttpPython } from "./tools/python/http-runtime.ts";
import { createPythonTool } from "./tools/python/tool.ts";
import type { TrainedToolbox } from "./tools/toolbox.ts";

export type WorkerEnv = Readonly<Record<string, unknown>>;

type Handler = (request: Request, context: ExecutionContext) => Response | Promise<Response>;

let handler: Handler | undefined;

export default {
  fetch(request: Request, env: WorkerEnv, context: ExecutionContext): Response | Promise<Response> {
    handler ??= createHandler(env);
    return handler(request, context);
  },
};

/** Creates the handler. A retry does not make invalid settings valid: every request is answered with an error. */
function createHandler(env: WorkerEnv): Handler {
  try {
    return createGatewayHandler(env);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    for (const problem of error.problems) console.error(problem);
    return ({ url }) => {
      const body = toErrorBody(MISCONFIGURED, errorCodesAt(new URL(url).pathname));
      return Response.json(body, { status: MISCONFIGURED.status });
    };
  }
}

const MISCONFIGURED: ErrorDescription = {
  status: 500,
  message: "The gateway's settings are invalid. Its operator finds the reasons in the log.",
  type: "server_error",
  param: null,
  errorType: "server",
};

function createGatewayHandler(env: WorkerEnv): Handler {
  const { inputs, warnings } = leaveOutNodeOnly(readBindings(env));
  const settings = resolveSettings(inputs, { public: true });
  if (settings.auditFile !== undefined) {
    throw new SettingsError(["auditFile: is available on Node only. Workers have no files."]);
  }
  const log = createLog({
    level: settings.log,
    now: Date.now,
    write: (line) => console.log(line),
  });
  for (const message of [...warnings, ...nodeOnlyValues(settings)]) {
    log.warn("warning", { message });
  }
  const { store, notes } = openBinding(settings, env);
  for (const message of notes) log.info("note", { message });
  const { app, models } = assemble(settings, {
    transport: createFetchTransport(),
    store,
    toolbox: openToolbox(settings),
    requestPage: requestByFetch,
    webSockets: { upgrade: upgradeWebSocket },
    // A custom project may have no files: its `/` is a page of links.
    assets: isAssetFetcher(env["ASSETS"]) ? createStaticAssets(env["ASSETS"]) : undefined,
    log,
  });
  const probe = createProbing(models, {
    timeoutMs: settings.connectTimeoutMs,
    onStatus: (model, status) => reportStatus(model, status, log),
  });
  return (request, context) => {
    context.waitUntil(probe());
    const waitUntil = (work: Promise<unknown>) => context.waitUntil(work);
    return app.fetch(request, env, { waitUntil, passThroughOnException() {}, props: {} });
  };
}

/**
 * The trained tools. The platform fetches pages, from a network without access to the operator's. Python runs elsewhere or not at
 * all.
 */
function openToolbox(settings: Settings): TrainedToolbox {
  const { builtinTools, pythonRuntime, pythonUrl: url, pythonKey: key } = settings;
  const hasSandbox = builtinTools.includes("python") && pythonRuntime === "http";
  const python =
    hasSandbox && url !== undefined
      ? createHttpPython({
          url,
          key,
          timeoutMs: settings.pythonTimeoutMs,
          newId: newRandomId,
          fetch: (input, init) => fetch(input, init),
        })
      : undefined;
  return {
    browser: builtinTools.includes("browser")
      ? openBrowser(settings, { requestPage: requestByFetch })
      : undefined,
    python: python && ((options) => createPythonTool(python, options)),
  };
}

function readBindings(env: WorkerEnv): SettingInput[] {
  return describedSettings().flatMap((setting) => {
    const value = env[setting.variable];
    if (value === undefined) return [];
    return {
      name: setting.name,
      value: typeof value === "string" ? fromText(setting, value) : value,
      source: setting.variable,
    };
  });
}
