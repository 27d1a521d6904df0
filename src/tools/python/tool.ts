/** The `python` tool: runs the code that the model writes in its chain of thought. */
import * as z from "zod";
import type {
  GatewayCall,
  GatewayToolResult,
  GatewayToolRun,
  GatewayTool,
  CodeOutput,
  DescribedCall,
  ShownCall,
  ToolSession,
} from "../gateway-tool.ts";
import type { PythonOptions } from "../toolbox.ts";
import { toPythonNamespace } from "./description.ts";
import { toDataUrl } from "./media-type.ts";
import {
  type PythonOutcome,
  type PythonRuntime,
  type PythonSession,
  PythonUnavailable,
} from "./runtime.ts";

/** The limits of gpt-oss's reference tool. */
const NO_OUTPUT =
  "[WARN] No output available. Use print() to output anything to stdout to receive the output";

const CONTAINER_PREFIX = "cntr_";

export function createPythonTool(runtime: PythonRuntime, options: PythonOptions = {}): GatewayTool {
  return {
    name: "python",
    namespace: toPythonNamespace(runtime),
    rawBody: true,
    accepts: (recipient) => recipient === "python" || recipient.startsWith("python."),
    describe: describeCode,
    open: (session) => Promise.resolve(createRun(runtime, session, toSessionId(options, session))),
  };
}

/** See {@link GatewayTool.describe}. */
export function describeCode({ body }: DescribedCall): ShownCall {
  return { type: "code", code: body, containerId: "", outputs: [] };
}

function createRun(
  runtime: PythonRuntime,
  { tenant, signal: turnSignal }: ToolSession,
  wanted: string | undefined,
): GatewayToolRun {
  let session: PythonSession | undefined;
  /** Whether the conversation had a session on whose variables the model may still rely. */
  let lost = false;

  async function open(): Promise<PythonSession> {
    const opened = await runtime.open({ tenant, id: wanted }, turnSignal);
    lost = wanted !== undefined && !opened.resumed;
    return opened;
  }

  return {
    async run(call, signal) {
      try {
        session ??= await open();
        const outcome = await session.run(call.body, signal);
        const restarted = lost || outcome.restarted;
        lost = false;
        return toResult(call, session.id, { ...outcome, restarted }, runtime);
      } catch (error) {
        if (!(error instanceof PythonUnavailable)) throw error;
        return failed(call, session?.id ?? wanted ?? "none", `[ERROR] ${error.message}`);
      }
    },
    save: () => (session === undefined ? wanted : session.id),
    async close() {
      await session?.release();
    },
  };
}

/** The id of the session to resume. The request's takes precedence over the conversation's. */
function toSessionId({ containerId }: PythonOptions, { saved }: ToolSession): string | undefined {
  const named = containerId?.startsWith(CONTAINER_PREFIX)
    ? containerId.slice(CONTAINER_PREFIX.length)
    : undefined;
  const parsed = sessionId().safeParse(named ?? saved);
  return parsed.success ? parsed.data : undefined;
}

const sessionId = () => z.string().regex(/^[\w-]{8,128}$/);

function toResult(
  call: GatewayCall,
  id: string,
  outcome: PythonOutcome,
  runtime: PythonRuntime,
): GatewayToolResult {
  const notes = [
    outcome.restarted
      ? "[The interpreter was restarted: earlier variables and files are gone.]"
      : "",
    endNote(outcome, runtime),
    fileNote(outcome),
  ].filter((note) => note !== "");
  const output = outcome.output === "" && notes.length === 0 ? NO_OUTPUT : outcome.output;
  return {
    text: joinLines([output, ...notes].filter((text) => text !== "")),
    shown: {
      type: "code",
      code: call.body,
      containerId: CONTAINER_PREFIX + id,
      outputs: toOutputs(outcome),
      ...(outcome.status === "exception" && { raised: true }),
    },
    failed: outcome.status !== "ok" && outcome.status !== "exception",
    ...(outcome.status === "timeout" && { reason: "timeout" }),
  };
}

function failed(call: GatewayCall, id: string, text: string): GatewayToolResult {
  const containerId = CONTAINER_PREFIX + id;
  const outputs = [{ type: "logs", logs: text }] as const;
  return { text, shown: { type: "code", code: call.body, containerId, outputs }, failed: true };
}

function endNote({ status }: PythonOutcome, { stateful, timeoutMs }: PythonRuntime): string {
  const gone = stateful ? " Its variables and files are gone." : "";
  switch (status) {
    case "ok":
    case "exception":
      return "";
    case "timeout":
      return `[ERROR] The code was stopped after ${timeoutMs / 1000} seconds.${gone}`;
    case "memory":
      return `[ERROR] The code used too much memory and was stopped.${gone}`;
    case "crash":
      return `[ERROR] The code made the interpreter crash.${gone}`;
    default:
      return status satisfies never;
  }
}

function fileNote({ files, withheld }: PythonOutcome): string {
  const saved = files.map(({ path }) => path);
  const shown = saved.length === 0 ? "" : `Handed to the user: ${saved.join(", ")}.`;
  const kept =
    withheld.length === 0 ? "" : `Too large or too many to hand on: ${withheld.join(", ")}.`;
  const text = [shown, kept].filter((part) => part !== "").join(" ");
  return text === "" ? "" : `[${text}]`;
}

function toOutputs({ output, files }: PythonOutcome): CodeOutput[] {
  const logs: CodeOutput[] = output === "" ? [] : [{ type: "logs", logs: output }];
  return [...logs, ...files.map((file) => ({ type: "image" as const, url: toDataUrl(file) }))];
}

function joinLines(texts: readonly string[]): string {
  return texts.reduce(
    (all, text) => all + (all === "" || all.endsWith("\n") ? "" : "\n") + text,
    "",
  );
}
