/**
 * An inference server of unknown kind: the first probe detects the kind, and its engine then handles all calls. An unreachable
 * server is probed again, as with every engine.
 */
import { COMPLETIONS_CAPABILITIES } from "./completions.ts";
import { EngineError } from "./engine-error.ts";
import type { Engine, EngineEvent } from "./engine.ts";
import { findServer, type FoundServer, isHostedKind, type ServerKind } from "./find-kind.ts";
import { listModels } from "./models-probe.ts";
import { isNamedGptOss } from "./other-model.ts";
import type { ServerOptions } from "./server.ts";
import { toPublicUrl } from "./server-url.ts";
import { unlessAborted } from "../streams/unless-aborted.ts";

/** Timeout of detection: a few queries without sampling. */
const FIND_TIMEOUT_MS = 15_000;

export interface AutoOptions extends ServerOptions {
  /** `model` is only the default: the engine uses the first of {@link servableModels}. */
  readonly findsModel?: boolean;
}

/** @param create creates the engine of a kind, for the model of this name. */
export function createAutoEngine<O extends AutoOptions>(
  options: O,
  create: (kind: ServerKind, options: O) => Engine,
): Engine {
  let found: Engine | undefined;
  let finding: Promise<Engine> | undefined;
  let endsBy = 0;

  /** Concurrent callers share one search, which continues if one of them aborts. A failure is not cached. */
  function find(signal: AbortSignal): Promise<Engine> {
    const now = performance.now();
    // On Workers, the search of a cancelled request never ends.
    if (finding === undefined || now > endsBy) {
      endsBy = now + FIND_TIMEOUT_MS;
      const own = search().finally(() => {
        if (finding === own) finding = undefined;
      });
      finding = own;
    }
    return unlessAborted(finding, signal);
  }

  async function search(): Promise<Engine> {
    const server = await findServer(options, AbortSignal.timeout(FIND_TIMEOUT_MS));
    const model =
      options.findsModel === true ? findModel(server, options) : chooseModel(options.model, server);
    found = create(server.kind, { ...options, model });
    return found;
  }

  return {
    get name() {
      return found?.name ?? "auto";
    },
    /** The minimum of all kinds, until the kind is known. */
    get capabilities() {
      return found?.capabilities ?? COMPLETIONS_CAPABILITIES;
    },
    async probe(signal) {
      const engine = found ?? (await find(signal));
      return engine.probe(signal);
    },
    async check(signal) {
      const engine = found ?? (await find(signal));
      await engine.check?.(signal);
    },
    complete: (request, signal) => found?.complete(request, signal) ?? refuse(find(signal)),
  };
}

/** Refuses a completion: the supported fields depend on the kind, so a request that was written before is invalid. */
function refuse(finding: Promise<Engine>): AsyncIterable<EngineEvent> {
  const refusal = finding.then(() => {
    const message = "The kind of inference server has only just been found out.";
    throw new EngineError("loading", message, { retryAfter: 1 });
  });
  return { [Symbol.asyncIterator]: () => ({ next: () => refusal }) };
}

const MAX_NAME_CHARS = 200;

/**
 * The server's name of the model: the configured one, or, for OpenAI's own name, the only gpt-oss in its list. In Ollama, for
 * example, it is `gpt-oss:20b`.
 */
export function chooseModel(wanted: string, { models }: FoundServer): string {
  if (models.includes(wanted) || !wanted.startsWith("openai/gpt-oss")) return wanted;
  const size = /\d+b$/.exec(wanted)?.[0] ?? "";
  const similar = new RegExp(`gpt-?oss\\D*${size}`, "i");
  // The pattern would start again at each `gptoss` of a long name.
  const [only = wanted, ...others] = models.filter(
    (name) => name.length <= MAX_NAME_CHARS && similar.test(name),
  );
  return others.length > 0 ? wanted : only;
}

/**
 * Models to serve when the operator has named none: the only one, or each gpt-oss of several. Ollama lists all downloaded models,
 * so its only model must be a gpt-oss as well.
 */
export function servableModels({ kind, models }: FoundServer): readonly string[] {
  const named = models.filter((name) => name.length <= MAX_NAME_CHARS);
  if (named.length === 1 && kind !== "ollama") return named;
  return named.filter(isNamedGptOss);
}

/** The model to serve. The default name stays for a provider whose list is not the operator's choice. */
function findModel(server: FoundServer, { url, model }: AutoOptions): string {
  if (isHostedKind(server.kind) || server.models.includes(model)) return model;
  const [first] = servableModels(server);
  if (first !== undefined) return first;
  const name = `${server.kind} at ${toPublicUrl(url)}`;
  const pull = server.kind === "ollama" ? " Download one: ollama pull gpt-oss:20b." : "";
  if (server.models.length === 0) {
    throw new EngineError("not-found", `${name} offers no model.${pull}`);
  }
  throw new EngineError(
    "not-found",
    `${name} offers no model named gpt-oss, but ${listModels(server.models)}.${pull || " Name the one to serve with --model."}`,
  );
}
