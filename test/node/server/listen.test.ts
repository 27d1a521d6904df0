import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { startTestGateway } from "../../helpers/gateway.ts";

/** Number of connections above Node's own limit of those that wait to be accepted. */
const CONNECTIONS = 700;

/** A client that ends when all of its connections are established. */
const CLIENT = `
const { connect } = require("node:net");
const [port, count] = process.argv.slice(1).map(Number);
let missing = count;
for (let n = 0; n < count; n += 1) {
  connect(port, "127.0.0.1", () => {
    missing -= 1;
    if (missing === 0) process.exit();
  });
}
`;

/** The system's own limit. 0: not known. */
function readSystemLimit(): number {
  try {
    return Number(readFileSync("/proc/sys/net/core/somaxconn", "utf8"));
  } catch {
    return 0;
  }
}

test.skipIf(readSystemLimit() < CONNECTIONS)(
  "clients that connect while the process is busy are connected, as many as the system allows (skipped where it allows too few)",
  async () => {
    const gateway = await startTestGateway();
    const { port } = new URL(gateway.origin);
    // The process accepts no connection before the call returns.
    const { status, stderr } = spawnSync(
      process.execPath,
      ["-e", CLIENT, port, String(CONNECTIONS)],
      { timeout: 240_000, encoding: "utf8" },
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect((await fetch(`${gateway.origin}/health`)).status).toBe(200);
    await gateway.close();
  },
);
