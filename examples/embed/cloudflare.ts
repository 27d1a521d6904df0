/** A Worker of your own with the gateway in it, one for each isolate. In your project: from "harmony-gateway". */
import { createD1Store, createGateway, type D1Database } from "../../src/index.ts";

interface Env {
  readonly STORE: D1Database;
  /** A server in a private network, from `vpc_services` in wrangler.toml. */
  readonly GPU?: { readonly fetch: typeof fetch };
}

let gateway: ReturnType<typeof createGateway> | undefined;

export default {
  fetch(request: Request, { STORE, GPU }: Env, context: unknown): Promise<Response> {
    const engine = GPU
      ? { url: "http://vllm.internal", fetch: GPU.fetch.bind(GPU) }
      : ({ engine: "demo" } as const);
    gateway ??= createGateway({ ...engine, store: createD1Store(STORE) });
    return gateway.fetch(request, { STORE, GPU }, context);
  },
};
