/** The gateway in a separate process with arguments, like an operator's. */
import { spawn } from "node:child_process";
import { gatewayCommand } from "./gateway-command.ts";
import type { Post } from "./tool-loop.ts";

export interface GatewayProcess {
  /** `http://127.0.0.1:<port>/v1` */
  readonly baseURL: string;
  readonly post: Post;
  /** The process's output so far. */
  output(): string;
  /** Ends the process like a supervisor. Resolves with its exit code. */
  terminate(): Promise<number | null>;
  /** Kills the process. Resolves when it has ended. */
  stop(): Promise<void>;
}

/** Starts on a free port unless `args` name one, without this process's environment. */
export async function startGatewayProcess(args: readonly string[]): Promise<GatewayProcess> {
  const { script, env } = await gatewayCommand();
  const port = args.includes("--port") ? [] : ["--port", "0"];
  const child = spawn(process.execPath, [script, ...port, ...args], { env });
  const closed = new Promise<number | null>((resolve) => child.once("close", resolve));
  let out = "";
  let err = "";
  child.stderr.on("data", (data) => (err += data));
  const baseURL = await new Promise<string>((resolve, reject) => {
    child.stdout.on("data", (data) => {
      out += data;
      const [, url] = /"baseUrl":"(http:[^"]+)"/.exec(out) ?? [];
      if (url !== undefined) resolve(url);
    });
    child.once("close", () => reject(new Error(`the gateway did not start: ${err}`)));
  });
  return {
    baseURL,
    post: (body, headers = {}) =>
      fetch(`${baseURL}/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      }),
    output: () => out,
    terminate() {
      child.kill("SIGTERM");
      return closed;
    },
    async stop() {
      child.kill("SIGKILL");
      await closed;
    },
  };
}
