/** Detects the kind of an inference server at a URL, by answers that only this kind gives. Nothing is sampled. */
import * as z from "zod";
import { askOptional, connectServer, type Server, type ServerOptions } from "./server.ts";
import { EngineError } from "./engine-error.ts";
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

/** Whether the kind is a hosted service, whose list of models is not the operator's choice. */
export function isHostedKind(kind: ServerKind): boolean {
  return SIGNS[kind].host !== undefined;
}

export interface FoundServer {
  readonly kind: ServerKind;
  /** The models of the server; empty if it has no list. */
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

/** Detects the kind. Throws an {@link EngineError}: `unreachable` if nothing answers, `not-found` if the answers fit no kind. */
export async function findServer(
  options: ServerOptions,
  signal: AbortSignal,
): Promise<FoundServer> {
  const { hostname } = new URL(options.url);
  const hosted = findBySign(({ host }) => host === hostname);
  if (hosted !== undefined) return { kind: hosted, models: [] };
  const server = connectServer("the server", options);
  // The query fails if nothing answers, or if the server refuses the key.
  const list = modelList.safeParse(await server.get("/v1/models", signal));
  const [first] = list.data?.data ?? [];
  const kind =
    findBySign(({ owner }) => owner !== undefined && owner === first?.owned_by) ??
    (await findByPaths(server, signal));
  if (kind === "ollama") return { kind, models: await listOllama(server, signal) };
  if (kind !== undefined) return { kind, models: list.data?.data.map(({ id }) => id) ?? [] };
  if (list.success) return { kind: "completions", models: list.data.data.map(({ id }) => id) };
  // A URL with a path is the base of an API, as in the OpenAI SDK.
  const others = modelList.safeParse(await askOptional(server, "/models", signal));
  if (others.success) return { kind: "completions", models: others.data.data.map(({ id }) => id) };
  throw new EngineError(
    "not-found",
    `The server at ${toPublicUrl(options.url)} is not an inference server that the gateway recognizes. ` +
      `Check the URL, or name its kind with --engine: ${SERVER_KINDS.join(", ")}.`,
  );
}

/** Signs by which a server of a kind is recognized. */
interface Signs {
  /** The host of a hosted service: it is not queried. */
  readonly host?: string;
  /** The owner of the models in `/v1/models`: most servers put their own name there. */
  readonly owner?: string;
  /** A path, and the answer that only this kind returns there. */
  readonly path?: string;
  readonly answer?: z.ZodType;
}

const SIGNS: Readonly<Record<ServerKind, Signs>> = {
  vllm: { owner: "vllm", path: "/version", answer: version },
  sglang: { owner: "sglang", path: "/get_model_info", answer: sglangInfo },
  "llama-cpp": { owner: "llamacpp", path: "/props", answer: llamaProps },
  trtllm: { owner: "tensorrt_llm" },
  ollama: { path: "/api/tags", answer: ollamaTags },
  fireworks: { host: "api.fireworks.ai" },
  // A server with a list of models and no other sign.
  completions: {},
};

/** Finds the last matching kind of the list, because vLLM's path is the most common one among other servers. */
function findBySign(test: (signs: Signs) => boolean): ServerKind | undefined {
  return SERVER_KINDS.findLast((kind) => test(SIGNS[kind]));
}

async function findByPaths(server: Server, signal: AbortSignal): Promise<ServerKind | undefined> {
  const paths = Object.values(SIGNS).flatMap(({ path }) => path ?? []);
  const answers = await Promise.all(paths.map((path) => askOptional(server, path, signal)));
  return findBySign(({ path, answer }) => {
    const at = path === undefined ? -1 : paths.indexOf(path);
    return answer?.safeParse(answers[at]).success === true;
  });
}

/** Models in Ollama's own list: the names have a tag. */
async function listOllama(server: Server, signal: AbortSignal): Promise<readonly string[]> {
  const tags = ollamaTags.safeParse(await askOptional(server, "/api/tags", signal));
  return tags.data?.models.map(({ name }) => name) ?? [];
}
