/** Starts OpenTelemetry's SDK if its standard variables request it. The package is optional, and loaded only then. */
import type { Log } from "../../telemetry/log.ts";
import { isMissing, toInstallCommand } from "../cli/install-hint.ts";
import { unregisterTracer } from "../../telemetry/tracing/tracer.ts";
import { waitAtMost } from "../../streams/timers.ts";

export interface Tracing {
  /** Spans may contain prompts and answers. */
  readonly capturesContent: boolean;
  /** Sends the collected spans, within a few seconds. */
  close(): Promise<void>;
}

type Environment = Readonly<Record<string, string | undefined>>;

const PACKAGE = "@opentelemetry/sdk-node";
/** Maximum wait for a collector at the end of the process. */
const CLOSE_MS = 3_000;

const OFF: Tracing = { capturesContent: false, close: async () => {} };

/** The SDK itself reads all variables of the specification: endpoint, headers, protocol, sampler, resource. */
export async function startTracing(environment: Environment, log: Log): Promise<Tracing> {
  if (!isWanted(environment)) return OFF;
  let sdk: Sdk;
  try {
    sdk = await startSdk(environment);
  } catch (error) {
    const reason = isMissing(error, PACKAGE)
      ? `it needs a package that is not installed: ${toInstallCommand(PACKAGE)}`
      : toReason(error);
    log.warn("warning", { message: `OTEL_EXPORTER_OTLP_ENDPOINT asks for traces; ${reason}` });
    return OFF;
  }
  const capturesContent = readContentSwitch(environment);
  log.info("tracing", { capturesContent });
  return {
    capturesContent,
    async close() {
      const sent = sdk
        .shutdown()
        .catch((error: unknown) => log.warn("traces not sent", { reason: toReason(error) }));
      await waitAtMost(sent, CLOSE_MS);
      unregisterTracer();
    },
  };
}

interface Sdk {
  shutdown(): Promise<void>;
}

async function startSdk(environment: Environment): Promise<Sdk> {
  const { NodeSDK } = await import("@opentelemetry/sdk-node");
  const isNamed =
    environment["OTEL_SERVICE_NAME"] !== undefined ||
    /(^|,)service\.name=/.test(environment["OTEL_RESOURCE_ATTRIBUTES"] ?? "");
  const sdk = new NodeSDK({
    ...(!isNamed && { serviceName: "harmony-gateway" }),
    // Metrics are exported at /metrics, the log on standard output.
    metricReaders: [],
    logRecordProcessors: [],
  });
  sdk.start();
  return sdk;
}

function toReason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function isWanted(environment: Environment): boolean {
  const endpoint =
    environment["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] ?? environment["OTEL_EXPORTER_OTLP_ENDPOINT"];
  if (endpoint === undefined || endpoint === "") return false;
  return (
    environment["OTEL_SDK_DISABLED"]?.toLowerCase() !== "true" &&
    environment["OTEL_TRACES_EXPORTER"] !== "none"
  );
}

/** The content switch of OpenTelemetry's conventions. Its values for events alone do not apply: there are no events. */
function readContentSwitch(environment: Environment): boolean {
  const value = environment["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] ?? "";
  return ["true", "span_only", "span_and_event"].includes(value.toLowerCase());
}
