/** The gateway as a handler of Node's own server. In your project: from "harmony-gateway" and "harmony-gateway/node". */
import { createServer } from "node:http";
import { createGateway } from "../../src/index.ts";
import { toNodeHandler } from "../../src/node/index.ts";

// With your server: createGateway({ url: "http://127.0.0.1:8000" })
const gateway = createGateway({ engine: "demo" });
export const server = createServer(toNodeHandler(gateway));

server.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1");
