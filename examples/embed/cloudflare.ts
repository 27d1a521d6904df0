/** A Worker of your own with the gateway in it, one for each isolate. In your project: from "harmony-gateway". */
import { createGateway, createKvStore, type KvNamespace } from "../../src/index.ts";

interface Env {
  readonly STORE: KvNamespace;
}

let gateway: ReturnType<typeof createGateway> | undefined;

export default {
  fetch(request: Request, env: Env, context: unknown): Promise<Response> {
    // With your server: { url: "https://gpu.example.com", engineKey: env.ENGINE_KEY, … }
    gateway ??= createGateway({ engine: "demo", store: createKvStore(env.STORE) });
    return gateway.fetch(request, env, context);
  },
};
