/**
 * The program in the interpreter's process: Pyodide, controlled by JSON lines on stdin, with replies as JSON lines on stdout. It
 * runs in Deno, or in Node for `unsafe-node`.
 *
 * The security boundary is Deno's permissions. Removing JavaScript's globals and the module `js` is only defence in depth: any
 * JavaScript object that Python can reach leads to the others.
 *
 * Imports only built-in modules and one file without imports, because each import costs start-up time.
 */
import { readFileSync, readSync, writeSync } from "node:fs";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { BoundedText } from "../../tools/bounded-text.ts";
import { type EmscriptenFs, limitFiles } from "./file-quota.ts";
import { PRELUDE } from "./prelude.ts";
import type { HostOptions, HostReply, HostRequest } from "./protocol.ts";

/** The members of Pyodide that are used. Its own types cannot be imported: the package is optional. */
interface Pyodide {
  readonly FS: EmscriptenFs;
  readonly lockfile: { readonly packages: Readonly<Record<string, LockedPackage>> };
  makeMemorySnapshot(): Uint8Array;
  setStdin(options: { stdin: () => null }): void;
  setStdout(options: { write: (bytes: Uint8Array) => number }): void;
  setStderr(options: { write: (bytes: Uint8Array) => number }): void;
  unregisterJsModule(name: string): void;
  loadPackage(names: string[], options: object): Promise<unknown>;
  unpackArchive(archive: Uint8Array, format: string, options: object): void;
  readonly globals: { get(name: string): Callable };
  runPython(code: string, options: object): Callable;
}

interface Callable {
  (...args: unknown[]): unknown;
  /** Lets Python wait for a promise without `await`. */
  callPromising?(...args: unknown[]): Promise<unknown>;
  toJs?(): unknown;
}

interface LockedPackage {
  readonly name: string;
  readonly file_name: string;
  readonly imports: readonly string[];
}

const DRIVE = "/mnt/data";
/** Maximum files and folders visited in the drive. */
const MAX_ENTRIES = 1000;

/**
 * The functions that read requests and write results are stored and frozen before any code runs: code that replaced them would
 * see the id of the next call, and could end that call while it runs on. The gateway checks for that, too.
 */
const { parse, stringify } = JSON;
const read = readSync;
const write = writeSync;
const NEWLINE = 10;
const decoder = new TextDecoder();
const encoder = new TextEncoder();
const BYTES = [Uint8Array, Uint8Array.prototype, Object.getPrototypeOf(Uint8Array.prototype)];
const TEXTS = [TextDecoder.prototype, TextEncoder.prototype, decoder, encoder];
for (const each of [...BYTES, ...TEXTS, Buffer, Buffer.prototype]) Object.freeze(each);

// Input from the gateway is trusted. The gateway does not trust the output.
const options: HostOptions = parse(process.argv[2] ?? "{}");
const loader: { loadPyodide(options: object): Promise<Pyodide> } = await import(
  pathToFileURL(`${options.pyodideFolder}/pyodide.mjs`).href
);

if (options.snapshot === "make") {
  const pyodide = await load({ _makeSnapshot: true });
  writeAll(pyodide.makeMemorySnapshot());
  process.exit(0);
}

const pyodide = await load(
  options.snapshot === undefined ? {} : { _loadSnapshot: readFileSync(options.snapshot) },
);
const run = prepare(pyodide);
reply({ type: "ready" });
await serve();

function load(extra: object): Promise<Pyodide> {
  return loader.loadPyodide({
    indexURL: `${options.pyodideFolder}/`,
    jsglobals: Object.create(null),
    stdout: () => undefined,
    stderr: () => undefined,
    ...(options.wheelsFolder !== undefined && { packageCacheDir: options.wheelsFolder }),
    ...extra,
  });
}

function prepare(py: Pyodide): Callable {
  py.setStdin({ stdin: () => null });
  limitFiles(py.FS, options.maxFileBytes);
  py.FS.mkdirTree(DRIVE);
  const extractDir = String(py.runPython("import site; site.getsitepackages()[0]", {}));
  for (const file of unlockedWheels(py)) {
    const archive = new Uint8Array(readFileSync(`${options.wheelsFolder}/${file}`));
    py.unpackArchive(archive, "wheel", { extractDir });
  }
  const runner = py.runPython(PRELUDE, { globals: py.runPython("dict()", {}) });
  py.unregisterJsModule("js");
  py.unregisterJsModule("pyodide_js");
  for (const name of ["Worker", "WebSocket", "fetch"]) Reflect.deleteProperty(globalThis, name);
  return runner;
}

/**
 * Unpacks wheels that are not Pyodide's own at start, because Pyodide does not know which modules they contain.
 */
function unlockedWheels(py: Pyodide): string[] {
  const locked = new Set(Object.values(py.lockfile.packages).map((each) => each.file_name));
  return options.wheels.filter((file) => !locked.has(file));
}

/** Reads synchronously: the process has no other work. The gateway sends one request at a time. */
async function serve(): Promise<void> {
  const buffer = new Uint8Array(65_536);
  let line = "";
  for (let count = read(0, buffer); count > 0; count = read(0, buffer)) {
    const isWhole = buffer[count - 1] === NEWLINE;
    line += decoder.decode(buffer.subarray(0, isWhole ? count - 1 : count), { stream: !isWhole });
    if (!isWhole) continue;
    const request: HostRequest = parse(line);
    line = "";
    reply(await execute(request));
  }
}

async function execute({ id, code }: HostRequest): Promise<HostReply> {
  const output = new BoundedText();
  const written = new TextDecoder();
  const collect = (bytes: Uint8Array) => {
    output.push(written.decode(bytes, { stream: true }));
    return bytes.length;
  };
  pyodide.setStdout({ write: collect });
  pyodide.setStderr({ write: collect });
  const before = listDrive();
  let status: "ok" | "exception";
  try {
    await loadImported(code);
    const succeeded = await (run.callPromising ? run.callPromising(code) : run(code));
    status = succeeded === true ? "ok" : "exception";
  } catch {
    // Pyodide itself has failed and cannot be used again.
    reply({ type: "crash", id, output: output.toString() });
    process.exit(1);
  }
  return { type: "result", id, status, output: output.toString(), ...changedFiles(before) };
}

/** Loads the wheels of Pyodide's own packages that the code imports. */
async function loadImported(code: string): Promise<void> {
  if (options.wheels.length === 0) return;
  const imported = new Set(findImports(code));
  const present = new Set(options.wheels);
  const names = Object.values(pyodide.lockfile.packages)
    .filter(
      ({ file_name, imports }) =>
        present.has(file_name) && imports.some((name) => imported.has(name)),
    )
    .map(({ name }) => name);
  if (names.length === 0) return;
  await pyodide.loadPackage(names, {
    messageCallback: () => undefined,
    errorCallback: () => undefined,
  });
}

function findImports(code: string): string[] {
  return [
    ...code.matchAll(/^\s*(?:import|from)\s+([\w.,\s]+?)(?:\s+import\b|\s+as\b|$)/gm),
  ].flatMap(([, names = ""]) =>
    names.split(",").map((name) => name.trim().split(/[.\s]/)[0] ?? ""),
  );
}

/** Files by their path in the drive, each with a mark that changes with the file. */
function listDrive(): Map<string, { mark: string; size: number }> {
  const { FS } = pyodide;
  const found = new Map<string, { mark: string; size: number }>();
  const folders = [DRIVE];
  let entries = 0;
  for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) {
    for (const name of FS.readdir(folder)) {
      if (name === "." || name === ".." || ++entries > MAX_ENTRIES) continue;
      const path = `${folder}/${name}`;
      const { mode, size, mtime, ino } = FS.lstat(path);
      if (FS.isDir(mode)) folders.push(path);
      if (FS.isFile(mode)) found.set(path, { mark: `${ino}:${size}:${mtime.getTime()}`, size });
    }
  }
  return found;
}

function changedFiles(before: ReturnType<typeof listDrive>) {
  const files: { path: string; base64: string }[] = [];
  const withheld: string[] = [];
  let bytes = 0;
  const limits = options.files;
  for (const [path, { mark, size }] of listDrive()) {
    if (before.get(path)?.mark === mark || size === 0) continue;
    const fits = size <= limits.fileBytes && bytes + size <= limits.allBytes;
    if (!fits || files.length >= limits.files) {
      if (withheld.length < limits.files) withheld.push(path);
      continue;
    }
    bytes += size;
    files.push({ path, base64: Buffer.from(pyodide.FS.readFile(path)).toString("base64") });
  }
  return { files, withheld };
}

function reply(message: HostReply): void {
  writeAll(encoder.encode(`${stringify(message)}\n`));
}

function writeAll(bytes: Uint8Array): void {
  let written = 0;
  while (written < bytes.length) written += write(1, bytes.subarray(written));
}
