/** Log entries as lines for people. What is not known here is shown as its fields. */
import * as z from "zod";
import type { LogEntry, LogFields, LogLevel } from "../../telemetry/log.ts";
import { paint, visible } from "../cli/control-signs.ts";
import { toTable } from "./table.ts";

export interface ReadableOptions {
  readonly colour: boolean;
}

export interface Readable {
  /** Empty: nothing is shown. */
  readonly text: string;
  /** The next line replaces it. */
  readonly isProgress?: boolean;
}

type Colour = "green" | "yellow" | "red" | "dim" | "bold" | "cyan";

/** Paints, or leaves the text alone. */
type Paint = (colour: Colour, text: string) => string;

export function createReadable({
  colour,
}: ReadableOptions): (entry: LogEntry, at: Date) => Readable {
  const painted: Paint = (name, text) => (colour ? paint(name, text) : text);
  return (entry, at) => {
    const start = started.safeParse(entry.fields);
    if (entry.event === "start" && start.success) return { text: toGreeting(start.data, painted) };
    if (entry.event === "settings") return { text: JSON.stringify(entry.fields, undefined, 2) };
    const text = toSentence(entry, painted);
    if (text === "") return { text };
    const time = painted("dim", at.toTimeString().slice(0, "12:00:00".length));
    return { text: `${time}  ${text}`, isProgress: entry.event === "download" };
  };
}

const started = z.object({
  baseUrl: z.string(),
  version: z.string(),
  keys: z.number(),
  seconds: z.number(),
  inspect: z.string().optional(),
  metrics: z.string().optional(),
  store: z.string().optional(),
  backends: z.array(
    z.object({
      model: z.string(),
      backend: z.string(),
      engine: z.string(),
      url: z.string().optional(),
    }),
  ),
});

export type Started = z.infer<typeof started>;

/** Address, engine, an example request, and where the metrics and the inspector are. */
function toGreeting(
  { baseUrl, version, keys, seconds, backends, inspect, metrics, store }: Started,
  painted: Paint,
): string {
  const origin = baseUrl.replace(/\/v1$/, "");
  const [first] = backends;
  const head = `harmony-gateway ${version} listens at ${painted("bold", baseUrl)}`;
  return [
    `${head} ${painted("dim", `(started in ${seconds.toFixed(1)} s)`)}`,
    "",
    ...toServed(backends),
    "",
    `  ${painted("cyan", "ask")}   ${toCurl(baseUrl, first?.model, keys > 0)}`,
    `  ${painted("cyan", "look")}  ${origin}/ in a browser: the APIs, the models, the docs`,
    ...(inspect === undefined
      ? []
      : [`  ${painted("cyan", "see")}   ${inspect} every turn as the model saw it`]),
    ...(metrics === undefined
      ? []
      : [`  ${painted("cyan", "read")}  ${metrics} for the metrics of this process`]),
    ...(store === "memory"
      ? [
          `  ${painted("cyan", "keep")}  --store sqlite:state.db: in memory, state ends with this process`,
        ]
      : []),
    `  ${painted("cyan", "stop")}  Ctrl+C`,
    "",
  ].join("\n");
}

function toServed(backends: Started["backends"]): string[] {
  const [first] = backends;
  if (first === undefined) return ["  No model is configured."];
  if (backends.length > 1) {
    const rows = backends.map((each) => [each.model, each.backend, each.engine, each.url ?? ""]);
    return toTable([["model", "backend", "engine", "url"], ...rows]).map((line) => `  ${line}`);
  }
  return [`  ${first.model} from ${describeEngine(first.engine, first.url)}`];
}

function describeEngine(engine: string, url: string | undefined): string {
  switch (engine) {
    case "demo":
      return "the built-in demo engine: it answers by fixed rules. Your own model: --url or --model";
    case "llama":
      return "llama.cpp in this process";
    case "auto":
      return `the server at ${url}; its kind is found by asking it`;
    default:
      return url === undefined ? engine : `${engine} at ${url}`;
  }
}

/** A line that can be pasted into a shell. */
export function toCurl(baseUrl: string, model: string | undefined, needsKey: boolean): string {
  const body = JSON.stringify({ model, messages: [{ role: "user", content: "Hello!" }] });
  const quoted = body.replaceAll("'", String.raw`'\''`);
  const key = needsKey ? " -H 'Authorization: Bearer <key>'" : "";
  return `curl ${baseUrl}/chat/completions -H 'Content-Type: application/json'${key} -d '${quoted}'`;
}

function toSentence({ level, event, fields }: LogEntry, painted: Paint): string {
  const say = (name: string) => toWord(fields[name]);
  switch (event) {
    case "request":
      return toRequestLine(fields, painted);
    case "turn":
      // One line for each request, unless its turn failed or `debug` is on.
      return level === "info" ? "" : toFailedTurn(fields, painted);
    case "engine ready": {
      const context = toCount(fields["contextLength"]);
      const length = context === undefined ? "" : `, context of ${context} tokens`;
      return `${painted("green", "ready")}  ${say("model")}: ${say("description")}${length}`;
    }
    case "engine unavailable":
      return `${painted("yellow", "waiting")}  ${say("model")}: ${say("reason")} The gateway keeps asking.`;
    case "engine hides control tokens":
      return (
        `${painted("yellow", "warning")}  ${say("model")}: the engine hides control tokens, so reasoning and ` +
        "answer cannot be told apart with certainty. Have it show special tokens. Until then answers are refused, " +
        "unless allowHiddenMarkers is set."
      );
    case "backend up":
      return `${painted("green", "up")}  ${say("model")}: backend ${say("backend")} answers again`;
    case "backend down":
    case "backend degraded": {
      const state = painted("red", event.replace("backend ", ""));
      return `${state}  ${say("model")}: backend ${say("backend")}: ${say("reason")}`;
    }
    case "no health check":
      return `${painted("yellow", "warning")}  ${say("model")}: ${say("reason")}`;
    case "engine warning":
      return `${painted("yellow", "warning")}  ${say("model")}: ${say("message")}`;
    case "download":
      return `${say("model")}: ${say("progress")}`;
    case "loading":
      return `${say("model")}: loading ${say("file")}`;
    case "warning":
      return `${painted("yellow", "warning")}  ${say("message")}`;
    case "settings read again":
      return `${painted("green", "reload")}  the settings were read again${toNote(fields)}`;
    case "settings refused":
      return `${painted("red", "reload")}  the settings stay as they were: ${say("reason")}`;
    case "shutdown":
      return "Shutting down when in-flight requests have ended. Press Ctrl+C again to exit at once.";
    case "stop":
      return "";
    default:
      return toFields(event, level, fields, painted);
  }
}

/** `200  POST /v1/chat/completions  12 ms  alice  model: there is no model of this name` */
function toRequestLine(fields: LogFields, painted: Paint): string {
  const status = Number(fields["status"]);
  const colour = status < 400 ? "green" : status < 500 ? "yellow" : "red";
  const tenant = fields["tenant"];
  const parts = [
    painted(colour, String(status)),
    `${toWord(fields["method"])} ${toWord(fields["route"])}`,
    painted("dim", `${toWord(fields["ms"])} ms`),
    ...(typeof tenant === "string" && tenant !== "" ? [toWord(tenant)] : []),
    ...(fields["reason"] === undefined ? [] : [toWord(fields["reason"])]),
  ];
  return parts.join("  ");
}

/** Its request's line follows, unless its stream had begun. */
function toFailedTurn({ model, message, error }: LogFields, painted: Paint): string {
  return `${painted("red", "failed")}  ${toWord(model)}: ${toWord(message ?? error)}`;
}

function toNote({ restartFor }: LogFields): string {
  return Array.isArray(restartFor) && restartFor.length > 0
    ? `; ${restartFor.join(", ")} needs a restart`
    : "";
}

function toFields(event: string, level: LogLevel, fields: LogFields, painted: Paint): string {
  const shown = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${toWord(value)}`],
  );
  const colour: Colour = level === "error" ? "red" : level === "warn" ? "yellow" : "dim";
  return [painted(colour, event), ...shown].join("  ");
}

/** Nothing that a terminal would obey: clients and servers choose some of the words. */
function toWord(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return visible(text.replaceAll(/[\r\n\t]+/g, " "));
}

function toCount(value: unknown): string | undefined {
  return typeof value === "number" ? value.toLocaleString("en-US") : undefined;
}
