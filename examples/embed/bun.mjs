/** The gateway in a server of Bun, which by default closes a connection after ten seconds without a byte. */
import { createGateway } from "harmony-gateway";

// With your server: createGateway({ url: "http://127.0.0.1:8000" })
const gateway = createGateway({ engine: "demo", basePath: "/llm" });

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.env.PORT ?? 3000),
  idleTimeout: 0,
  fetch: (request) => gateway.fetch(request),
});
