/** `harmony-gateway convert`: converts conversations between formats, one per line. */
import {
  createReadStream,
  createWriteStream,
  existsSync,
  fstatSync,
  openSync,
  statSync,
} from "node:fs";
import { once } from "node:events";
import type { Writable } from "node:stream";
import { finished } from "node:stream/promises";
import { parseArgs } from "node:util";
import * as z from "zod";
import { systemOptions } from "../../../config/system-options.ts";
import { createRenderer } from "../../../harmony/render.ts";
import type { Command, CommandIo } from "../command-io.ts";
import { visible } from "../control-signs.ts";
import { loadSettings } from "../settings.ts";
import type { ConvertOptions } from "./convert-line.ts";
import { type ConvertReport, convertStream } from "./convert-stream.ts";
import { resolve } from "node:path";

export const CONVERT: Command = {
  usage: `\
harmony-gateway convert [input.jsonl | -] --from <format> --to <format> [options]

Converts conversations, one JSON object a line. Formats: chat (Chat Completions: {"messages": [...]}; a request to
any API), harmony ({"text": ...} or {"input_ids": [...]}), openchatml ({"text": ...}), and as a target ids
({"input_ids": [...], "labels": [...], "mask": [...]}).

  --out <file>       where the lines go; default: the standard output
  --mode <mode>      history: messages end with <|end|>. training: a last answer ends with <|return|>. prompt: analysis
                     of finished turns is left out and the assistant's message is opened. Default: training for ids,
                     otherwise history
  --mask <which>     with ids, what the assistant wrote: all of it, its last turn (last), or final answers (final)
  --mask-as <name>   labels (-100 where the mask is 0), mask (1 and 0), or both; default both
  --lenient          read what is not quite right, and count it as lost
  --strict           refuse lines that lose anything
  --bad <file>       bad lines, as JSON with number, code and message; default: the standard error
  --losses <file>    what each line lost, as JSON
  --date <date>      the date in system messages; default: none, so that the same data gives the same ids every day
  --max-line <bytes> longer lines are bad; default 67108864

Identity, cutoff and layout are those of the settings in the environment. The exit code is 1 if there were bad lines.`,
  run: (args, io) =>
    runConvert(args, { ...io, stdout: io.openOutput(), now: () => performance.now() }),
};

const values = z.object({
  from: z.enum(["openchatml", "harmony", "chat"]),
  to: z.enum(["openchatml", "harmony", "chat", "ids"]),
  mode: z.enum(["history", "training", "prompt"]).optional(),
  mask: z.enum(["all", "last", "final"]).optional(),
  "mask-as": z.enum(["labels", "mask", "both"]).default("both"),
  lenient: z.boolean().default(false),
  strict: z.boolean().default(false),
  out: z.string().optional(),
  bad: z.string().optional(),
  losses: z.string().optional(),
  date: z.string().optional(),
  "max-line": z.coerce.number().int().positive().default(67_108_864),
});

type ConvertIo = Pick<CommandIo, "environment" | "stdin" | "stderr" | "descriptors"> & {
  readonly stdout: ReturnType<CommandIo["openOutput"]>;
  readonly now: () => number;
};

/** Returns the exit code. Throws an `Error` whose message explains the invalid argument. */
export async function runConvert(args: readonly string[], io: ConvertIo): Promise<number> {
  const { options, file } = readArguments(args);
  refuseSameFiles(
    { input: file === "-" ? io.descriptors?.stdin : file, output: io.descriptors?.stdout },
    options,
  );
  const files = { out: open(options.out), bad: open(options.bad), losses: open(options.losses) };
  const progress = createProgress(io);
  const reportBadLine = (text: string) => write(files.bad ?? io.stderr, `${text}\n`);
  try {
    const report = await convertStream(toConvertOptions(options, io.environment), {
      input: file === "-" ? io.stdin : createReadStream(file, { highWaterMark: 1 << 18 }),
      write: (text) =>
        files.out
          ? write(files.out, text)
          : write(io.stdout, io.stdout.isTTY ? visible(text) : text),
      onBadLine: async (line) => {
        progress.clear();
        await reportBadLine(JSON.stringify(line));
      },
      onLosses: async (line, losses) => {
        if (files.losses) await write(files.losses, `${JSON.stringify({ line, losses })}\n`);
      },
      onProgress: (so) => progress.show(so),
      maxLineBytes: options["max-line"],
    });
    progress.clear();
    await write(io.stderr, `${summary(report)}\n`);
    return report.bad > 0 ? 1 : 0;
  } finally {
    await Promise.all(Object.values(files).map(close));
  }
}

type Values = z.infer<typeof values>;

function readArguments(args: readonly string[]): { options: Values; file: string } {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  const parsed = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      from: text,
      to: text,
      mode: text,
      mask: text,
      "mask-as": text,
      lenient: flag,
      strict: flag,
      out: text,
      bad: text,
      losses: text,
      date: text,
      "max-line": text,
    },
  });
  if (parsed.positionals.length > 1)
    throw new TypeError("convert: name one input file, or - for standard input.");
  const result = values.safeParse(parsed.values);
  if (!result.success) {
    throw new TypeError(describeIssue(result.error.issues[0]));
  }
  if (result.data.mask !== undefined && result.data.to !== "ids") {
    throw new TypeError("--mask: only ids have a mask. Use it with --to ids.");
  }
  return { options: result.data, file: parsed.positionals[0] ?? "-" };
}

function describeIssue(issue: z.core.$ZodIssue | undefined): string {
  if (issue === undefined) return "convert: the arguments are not valid.";
  const flag = `--${issue.path.join(".")}`;
  if (issue.code === "invalid_value") return `${flag}: expected one of ${issue.values.join(", ")}.`;
  return `${flag}: expected a whole number, 1 or more.`;
}

function toConvertOptions(
  options: Values,
  environment: Readonly<Record<string, string | undefined>>,
): ConvertOptions {
  const { settings } = loadSettings([], environment);
  const { date: _, ...system } = systemOptions(settings, 0);
  const { from, to, mode, mask, lenient, strict, date } = options;
  return {
    from,
    to,
    mode,
    mask,
    maskAs: options["mask-as"],
    lenient,
    strict,
    system: { ...system, ...(date !== undefined && { date }) },
    renderer: createRenderer({ layout: settings.layout }),
  };
}

function open(path: string | undefined): Writable | undefined {
  // The file is opened here, so that an invalid path is reported before any input is read.
  if (path === undefined) return undefined;
  // The next write rejects with this error, which names the file; the system's error does not.
  return createWriteStream(path, { fd: openSync(path, "w") }).on("error", (error) =>
    Object.assign(error, { path }),
  );
}

async function write(stream: Writable, text: string): Promise<void> {
  if (stream.errored) throw stream.errored;
  if (!stream.write(text)) await once(stream, "drain");
}

async function close(stream: Writable | undefined): Promise<void> {
  if (stream === undefined) return;
  stream.end();
  await finished(stream);
}

/** Interval between two progress updates. */
const PROGRESS_MS = 250;

/** A status line that is overwritten, on a terminal only. */
function createProgress({ stderr, now }: ConvertIo) {
  const begun = now();
  let last = begun;
  return {
    show(report: ConvertReport): void {
      if (!stderr.isTTY || now() - last < PROGRESS_MS) return;
      last = now();
      const megabytes = report.bytes / 1e6;
      const rate = megabytes / Math.max(0.001, (last - begun) / 1000);
      const counts = `${report.lines} lines, ${report.bad} bad, ${megabytes.toFixed(0)} MB`;
      stderr.write(`\r\u001B[K${counts}, ${rate.toFixed(1)} MB/s`);
    },
    clear(): void {
      if (stderr.isTTY) stderr.write("\r\u001B[K");
    },
  };
}

function summary({ lines, converted, bad, losses }: ConvertReport): string {
  const lost = [...losses].map(([name, count]) => `${name} × ${count}`);
  const counts = `${lines} ${lines === 1 ? "line" : "lines"}: ${converted} converted, ${bad} bad.`;
  return lost.length === 0 ? counts : `${counts} Lost: ${lost.join(", ")}.`;
}

/** Standard input and output: a path, or the descriptor of an open file. */
interface Ends {
  readonly input: string | number | undefined;
  readonly output: string | number | undefined;
}

type Outputs = Readonly<Partial<Record<"out" | "bad" | "losses", string | undefined>>>;

/** Throws an `Error` for the user if an output is also the input or another output. The input need not exist. */
export function refuseSameFiles({ input, output }: Ends, outputs: Outputs): void {
  const known = new Map<string, string>();
  const source = input === undefined ? undefined : identify(input);
  if (source !== undefined) known.set(source, "the input");
  const target = output === undefined ? undefined : identify(output);
  // With --out, nothing is written to standard output.
  if (target !== undefined && outputs.out === undefined) {
    if (known.has(target)) throw new TypeError("The standard output: is the input itself.");
    known.set(target, "the standard output");
  }
  for (const name of ["out", "bad", "losses"] as const) {
    const path = outputs[name];
    const id = path === undefined ? undefined : identifyOutput(path);
    if (path === undefined || id === undefined) continue;
    const same = known.get(id);
    if (same !== undefined) throw new TypeError(`--${name} ${path}: is the same file as ${same}.`);
    known.set(id, `--${name}`);
  }
}

/** Device and inode. Undefined: the file is not a regular one. */
function identify(file: string | number): string | undefined {
  const options = { bigint: true } as const;
  const found = typeof file === "number" ? fstatSync(file, options) : statSync(file, options);
  return found.isFile() ? `${found.dev}:${found.ino}` : undefined;
}

function identifyOutput(path: string): string | undefined {
  return existsSync(path) ? identify(path) : resolve(path);
}
