/**
 * A real PostgreSQL, Debian's, with its own cluster on a free port. It refuses to run as root, and then runs as
 * `postgres`.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { freePort } from "./listen.ts";

const FOLDER = "/usr/lib/postgresql";
const BIN = findPrograms();

/** Tests that need PostgreSQL are skipped if it is missing: `describe.skipIf(!HAS_POSTGRES)`. */
export const HAS_POSTGRES = BIN !== undefined;

export interface TestPostgres {
  readonly url: string;
  /** Kills all processes of the server, like a crash. */
  kill(): Promise<void>;
  /** Restarts the server, on the same port and files. */
  start(): Promise<void>;
  /** Returns the rows of a statement. */
  query(text: string): Promise<Record<string, unknown>[]>;
  /** Kills the server, and removes its files. */
  remove(): Promise<void>;
}

function findPrograms(): string | undefined {
  try {
    const newest = readdirSync(FOLDER).toSorted((a, b) => Number(b) - Number(a))[0];
    const bin = join(FOLDER, newest ?? "", "bin");
    execFileSync(join(bin, "postgres"), ["--version"]);
    return bin;
  } catch {
    return undefined;
  }
}

/** The ids of the server's user. Empty: this process's user. */
function toUser(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string) => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}

export async function startPostgres(): Promise<TestPostgres> {
  const bin = BIN ?? "";
  const user = toUser();
  // Only root may look into the folder of the tests.
  const folder = mkdtempSync(join(user.uid === undefined ? tmpdir() : "/tmp", "postgres-"));
  if (user.uid !== undefined && user.gid !== undefined) chownSync(folder, user.uid, user.gid);
  const data = join(folder, "data");
  execFileSync(
    join(bin, "initdb"),
    ["-D", data, "-U", "gateway", "-A", "trust", "--no-sync"],
    user,
  );
  const port = await freePort();
  const url = `postgres://gateway@127.0.0.1:${port}/postgres`;
  let child: ChildProcess | undefined;

  async function start(): Promise<void> {
    const settings = [`unix_socket_directories=${folder}`, "shared_buffers=16MB"];
    const flags = settings.flatMap((setting) => ["-c", setting]);
    const args = ["-D", data, "-p", String(port), "-h", "127.0.0.1", ...flags];
    child = spawn(join(bin, "postgres"), args, { ...user, stdio: "ignore" });
    for (;;) {
      try {
        await query("SELECT 1");
        return;
      } catch (error) {
        if (child.exitCode !== null) throw error;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }

  async function query(text: string): Promise<Record<string, unknown>[]> {
    const client = new Client({ connectionString: url });
    client.on("error", () => {});
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(text)).rows;
    } finally {
      await client.end();
    }
  }

  async function kill(): Promise<void> {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    // The other processes end when they notice that the first has ended.
    child.kill("SIGKILL");
    await ended;
  }

  await start();
  return {
    url,
    start,
    kill,
    query,
    async remove() {
      await kill();
      rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    },
  };
}
