/** The gateway in a server of Deno. Run: `deno run --allow-net --allow-env deno.mjs` */
import { createGateway } from "harmony-gateway";

// With your server: createGateway({ url: "http://127.0.0.1:8000" })
const gateway = createGateway({ engine: "demo", basePath: "/llm" });

Deno.serve({ hostname: "127.0.0.1", port: Number(Deno.env.get("PORT") ?? 3000) }, (request) =>
  gateway.fetch(request),
);
