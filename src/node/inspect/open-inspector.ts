/** The inspector's page on Node: its files, and the token for its URL. */
import type { Hono } from "hono";
import type { ApiEnv } from "../../api/request/client.ts";
import type { Settings } from "../../config/settings.ts";
import { inspectorRoutes } from "../../inspect/routes.ts";
import type { PageAssets } from "../../pages/assets.ts";
import type { RecordEntry } from "../../telemetry/record/entry.ts";
import { MAX_RECORDS } from "../../telemetry/record/limits.ts";
import type { Recorder } from "../../telemetry/record/recorder.ts";
import { randomId } from "../random-id.ts";
import type { OperatorDeps } from "./run-as-operator.ts";
import { readKeyUses } from "../telemetry/read-audit.ts";
import { readVersion } from "../version.ts";

export interface Inspector {
  /** The URL to print. The token follows a `#`, so that neither server logs nor other pages see it. */
  toUrl(origin: string): string;
  routes(deps: Omit<OperatorDeps, "recorder">, closing: AbortSignal): Hono<ApiEnv>;
}

/** @param capture writes a turn into the folder for captures; undefined: there is no such folder */
export function openInspector(
  settings: Settings,
  recorder: Recorder,
  assets: PageAssets,
  capture?: (entry: RecordEntry) => Promise<string>,
): Inspector {
  const { inspectKey, inspectMaxBytes, inspectMaxAgeSeconds, auditFile } = settings;
  const token = inspectKey ?? randomId();
  const version = readVersion();
  return {
    // The operator's own token is not printed.
    toUrl: (origin) => `${origin}/inspect${inspectKey === undefined ? `#token=${token}` : ""}`,
    routes(deps, closing) {
      const { keys, host, allowedHosts, home, reusePort } = deps.settings;
      return inspectorRoutes({
        closing,
        async runAgain(record, signal) {
          const { runAsOperator } = await import("./run-as-operator.ts");
          const until = AbortSignal.any([signal, closing]);
          return runAsOperator(record, { ...deps, recorder }, until);
        },
        recorder,
        keeps: { turns: MAX_RECORDS, bytes: inspectMaxBytes, seconds: inspectMaxAgeSeconds },
        ...(capture && { capture }),
        assets,
        models: () => deps.models,
        ...(auditFile !== undefined && { keyUses: () => readKeyUses(auditFile) }),
        isOneOfSeveral: reusePort,
        hasKeys: keys.length > 0,
        hasChat: home === "chat",
        version,
        token,
        isChosen: inspectKey !== undefined,
        host,
        allowedHosts,
      });
    },
  };
}
