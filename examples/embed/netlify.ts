/** The gateway as a function of Netlify, `netlify/functions/llm.ts`. In your project: from "harmony-gateway". */
import { createGateway } from "../../src/index.ts";

// With your server: { url: "https://gpu.example.com", engineKey: Netlify.env.get("ENGINE_KEY"), … }
const gateway = createGateway({ engine: "demo", basePath: "/llm" });

export default (request: Request): Promise<Response> => gateway.fetch(request);

export const config = { path: "/llm/*" };
