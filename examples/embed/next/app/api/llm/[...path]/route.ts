/** The gateway as a route of Next.js, below `/api/llm`. In your project: from "harmony-gateway". */
import { createGateway, type EmbeddedGateway } from "../../../../../../../src/index.ts";

declare global {
  var gateway: EmbeddedGateway | undefined;
}

// Next.js loads the file again after each change: one gateway for all. With your server: { url: "http://127.0.0.1:8000", … }
const gateway = (globalThis.gateway ??= createGateway({ engine: "demo", basePath: "/api/llm" }));

/** Seconds. An answer of a large model takes minutes. */
export const maxDuration = 300;

const handle = (request: Request) => gateway.fetch(request);
export { handle as GET, handle as POST, handle as DELETE, handle as OPTIONS };
