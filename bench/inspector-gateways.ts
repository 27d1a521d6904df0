/**
 * Several gateways in one process, for `inspector-alternating.ts`:
 * `node bench/inspector-gateways.ts <port of the engine>:<flag> …`. It sends their ports once they are ready.
 */
import { loadSettings } from "../src/node/settings.ts";
import { startGateway } from "../src/node/serve.ts";
import { MODEL } from "./streaming/requests.ts";

const ports: number[] = [];
for (const argument of process.argv.slice(2)) {
  const [enginePort, flag = ""] = argument.split(":");
  const engine = ["--engine", "vllm", "--url", `http://127.0.0.1:${enginePort}`];
  const args = [...engine, "--model", MODEL, "--log", "warn", "--port", "0", flag];
  const { baseUrl } = await startGateway(loadSettings(args, {}).settings);
  ports.push(Number(new URL(baseUrl).port));
}
// So that a profile is written.
process.on("SIGTERM", () => process.exit());
process.on("disconnect", () => process.exit());
process.send?.(ports);
