/** Finds out which kind of inference server answers at a URL, by what only that kind answers. Nothing is sampled. */
import * as z from "zod";
import { askOptional } from "./describe.ts";
import { EngineError } from "./engine-error.ts";
import { connectServer, type Server, type ServerOptions } from "./server.ts";
import { toPublicUrl } from "./server-url.ts";

export const SERVER_KINDS = [
  "vllm",
  "sglang",
  "llama-cpp",
  "trtllm",
  "ollama",
  "fireworks",
  "completions",
] as const;

export type ServerKind = (typeof SERVER_KINDS)[number];

export function isServerKind(kind: string): kind is ServerKind {
  return SERVER_KINDS.some((each) => each === kind);
}

export interface FoundServer {
  readonly kind: ServerKind;
  /** The models it offers; empty if it has no list. */
  readonly models: readonly string[];
}

const modelList = z.lazy(() =>
  z.object({
    data: z.array(z.object({ id: z.string(), owned_by: z.string().nullish() })),
  }),
);
const ollamaTags = z.lazy(() => z.object({ models: z.array(z.object({ name: z.string() })) }));
const llamaProps = z.lazy(() => z.object({ default_generation_settings: z.unknown() }).loose());
const sglangInfo = z.lazy(() => z.object({ model_path: z.string() }));
const version = z.lazy(() => z.object({ version: z.string() }));

/** Throws an {@link EngineError}: `unreachable` if nothing answers, `not-found` if the kind cannot be told. */
export async function findServer(
  options: ServerOptions,
  signal: AbortSignal,
): Promise<FoundServer> {
  if (new URL(options.url).hostname === "api.fireworks.ai")
    return { kind: "fireworks", models: [] };
  const server = connectServer("the server", options);
  // Fails if nothing answers at all, or if it refuses the key.
  const list = modelList.safeParse(await server.get("/v1/models", signal));
  const [first] = list.data?.data ?? [];
  const kind = OWNERS.get(first?.owned_by ?? "") ?? (await findByPaths(server, signal));
  if (kind === "ollama") return { kind, models: await listOllama(server, signal) };
  if (kind !== undefined) return { kind, models: list.data?.data.map(({ id }) => id) ?? [] };
  if (list.success) return { kind: "completions", models: list.data.data.map(({ id }) => id) };
  // A URL with a path is an API's base, as in the OpenAI SDK.
  const others = modelList.safeParse(await askOptional(server, "/models", signal));
  if (others.success) return { kind: "completions", models: others.data.data.map(({ id }) => id) };
  throw new EngineError(
    "not-found",
    `What answers at ${toPublicUrl(options.url)} is no inference server the gateway knows. ` +
      `Check the URL, or name its kind with --engine: ${SERVER_KINDS.join(", ")}.`,
  );
}

/** The owner of the models in `/v1/models`: most servers put their own name there. */
const OWNERS: ReadonlyMap<string, ServerKind> = new Map([
  ["vllm", "vllm"],
  ["sglang", "sglang"],
  ["llamacpp", "llama-cpp"],
  ["tensorrt_llm", "trtllm"],
]);

async function findByPaths(server: Server, signal: AbortSignal): Promise<ServerKind | undefined> {
  const ask = (path: string) => askOptional(server, path, signal);
  const [tags, info, props, ownVersion] = await Promise.all(
    ["/api/tags", "/get_model_info", "/props", "/version"].map((path) => ask(path)),
  );
  if (ollamaTags.safeParse(tags).success) return "ollama";
  if (sglangInfo.safeParse(info).success) return "sglang";
  if (llamaProps.safeParse(props).success) return "llama-cpp";
  return version.safeParse(ownVersion).success ? "vllm" : undefined;
}

/** Its own list: the names have a tag. */
async function listOllama(server: Server, signal: AbortSignal): Promise<readonly string[]> {
  const tags = ollamaTags.safeParse(await askOptional(server, "/api/tags", signal));
  return tags.data?.models.map(({ name }) => name) ?? [];
}
