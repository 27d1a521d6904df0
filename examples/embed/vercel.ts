/** The gateway as a function of Vercel, `api/gateway.ts`. In your project: from "harmony-gateway". */
import { createGateway } from "../../src/index.ts";
import { createHttpRedisStore } from "./http-redis.ts";

const { KV_REST_API_URL: url, KV_REST_API_TOKEN: token } = process.env;

// With your server: { url: "https://gpu.example.com", engineKey: process.env.ENGINE_KEY, … }
const gateway = createGateway({
  engine: "demo",
  ...(url !== undefined && token !== undefined && { store: createHttpRedisStore(url, token) }),
});

/** An answer of a large model takes minutes. */
export const maxDuration = 300;

export default { fetch: (request: Request): Promise<Response> => gateway.fetch(request) };
