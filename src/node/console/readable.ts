/** Log entries as lines for people. Events without a text of their own are shown as their fields. */
import type { LogEntry, LogFields, LogLevel } from "../../telemetry/log.ts";
import { AnswerLines } from "./answer-lines.ts";
import { EngineLines } from "./engine-lines.ts";
import { started, toGreeting } from "./greeting.ts";
import type { Colour } from "../cli/control-signs.ts";
import { createPaint, type Paint, toWord } from "./paint.ts";

export interface ReadableOptions {
  readonly colour: boolean;
  /** Columns of the terminal. Default: unlimited. */
  readonly columns?: () => number;
}

export interface Readable {
  /** The lines. Empty: the entry is not shown. */
  readonly text: string;
  /** The next line replaces it. */
  readonly isProgress?: boolean;
}

/** Lines that depend on earlier entries. */
interface Lines {
  readonly answers: AnswerLines;
  readonly engines: EngineLines;
}

export function createReadable({
  colour,
  columns = () => Infinity,
}: ReadableOptions): (entry: LogEntry, at: Date) => Readable {
  const painted = createPaint(colour);
  const lines = {
    answers: new AnswerLines(painted, columns),
    engines: new EngineLines(painted),
  };
  return (entry, at) => {
    const start = started.safeParse(entry.fields);
    if (entry.event === "start" && start.success) {
      lines.engines.start(start.data.backends);
      return { text: toGreeting(start.data, painted) };
    }
    if (entry.event === "settings") return { text: JSON.stringify(entry.fields, undefined, 2) };
    const text = toSentence(entry, at, painted, lines);
    if (text === "") return { text };
    const time = painted("dim", at.toTimeString().slice(0, "12:00:00".length));
    return { text: `${time}  ${text}`, isProgress: entry.event === "download" };
  };
}

function toSentence(
  { level, event, fields }: LogEntry,
  at: Date,
  painted: Paint,
  { answers, engines }: Lines,
): string {
  const say = (name: string) => toWord(fields[name]);
  switch (event) {
    case "request":
      return answers.request(fields);
    case "turn": {
      const line = answers.turn(fields);
      return level === "info" ? line : toFailedTurn(fields, painted);
    }
    case "engine ready":
      return engines.ready(fields, at);
    case "engine unavailable":
      return engines.unavailable(fields, at);
    case "engines found":
      return engines.found(fields);
    case "models found":
      return engines.models(fields);
    case "engine hides control tokens":
      return (
        `${painted("yellow", "warning")}  ${say("model")}: the engine hides control tokens, so reasoning and ` +
        "answer cannot be told apart with certainty. Have it show special tokens. Until then answers are refused, " +
        "unless allowHiddenMarkers is set."
      );
    case "backend up":
      return engines.up(fields, at);
    case "backend down":
    case "backend degraded":
      return engines.down(event, fields, at);
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
      return toShutdown(fields);
    case "stop":
      return answers.totals() ?? "";
    default:
      return toFields(event, level, fields, painted);
  }
}

/** The line of a failed turn. Its request's line follows, unless the stream had begun. */
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

/** `Finishing 2 answers (up to 30 s). Ctrl+C again to quit now.` */
function toShutdown({ inFlight, graceMs }: LogFields): string {
  if (typeof inFlight !== "number" || inFlight === 0) return "Shutting down.";
  const answers = inFlight === 1 ? "1 answer" : `${inFlight} answers`;
  const within = typeof graceMs === "number" ? ` (up to ${Math.ceil(graceMs / 1000)} s)` : "";
  return `Finishing ${answers}${within}. Ctrl+C again to quit now.`;
}
