/**
 * The base of engines reached over HTTP: a server, capabilities refined by a probe, and one request for each
 * completion. An engine defines only its paths, its request body and its stream reader.
 */
import { EngineError } from "./engine-error.ts";
import type { Capabilities, CompletionRequest, Engine, EngineProbe } from "./engine.ts";
import { type ModelsProbe, probeModels } from "./models-probe.ts";
import { explainRefusal, isNamedGptOss, OtherModelError, toServed } from "./other-model.ts";
import { probeTokens } from "./probe.ts";
import { createCallNames } from "./request-body.ts";
import { type CompletionCall, connectServer, type Server, type ServerOptions } from "./server.ts";

export interface ServerEngine {
  /** The kind of server, by its name in the settings: `vllm`. */
  readonly name: string;
  /** The maximum that the server supports. A probe may find less. */
  readonly capabilities: Capabilities;
  /** The path of the health endpoint. Absent: the server has none. */
  readonly healthPath?: string;
  /** The command that serves gpt-oss with this kind of server, for an operator whose server has another model. */
  readonly start?: string;
  /**
   * Reads version, models and context length. Throws an {@link EngineError} if the server is of another kind or does
   * not serve the model.
   */
  readonly probe: (
    server: Server,
    signal: AbortSignal,
  ) => Promise<Omit<EngineProbe, "capabilities">>;
  /**
   * The request of one completion, and the reader of its answer.
   *
   * @param callName unique name among the calls of this engine.
   */
  readonly toCall: (request: CompletionRequest, server: Server, callName: string) => CompletionCall;
  /** Sends the call. Default: once, without a retry. */
  readonly send?: (
    server: Server,
    call: () => CompletionCall,
    signal: AbortSignal,
  ) => CompletionStream;
}

export type CompletionStream = ReturnType<Server["complete"]>;

export function createServerEngine(
  { name, capabilities: best, healthPath, start, probe, toCall, send = sendOnce }: ServerEngine,
  options: ServerOptions,
): Engine {
  const server = connectServer(name, options);
  const nameCall = createCallNames();
  let capabilities = best;

  const engine: Engine = {
    name,
    get capabilities() {
      return capabilities;
    },
    async probe(signal) {
      const description = await probe(server, signal);
      const { model } = options;
      const offer = { server: server.name, model, models: description.models, start };
      const served = toServed(offer);
      const { continuation, ...tokens } = await probeTokens(
        engine,
        { provesHeader: !served.some(isNamedGptOss) },
        signal,
      ).catch((error: unknown) => {
        throw explainRefusal(error, offer);
      });
      if (continuation !== undefined) throw new OtherModelError(offer, continuation);
      capabilities = { ...best, ...tokens };
      return { ...description, capabilities };
    },
    ...(healthPath !== undefined && {
      check: (signal: AbortSignal) => server.check(healthPath, signal),
    }),
    complete(request, signal) {
      const call = (): CompletionCall => {
        const made = toCall(request, server, nameCall(request));
        return request.headers === undefined ? made : { ...made, headers: request.headers() };
      };
      return send(server, call, signal);
    },
  };

  return engine;
}

function sendOnce(server: Server, call: () => CompletionCall, signal: AbortSignal) {
  return server.complete(call(), signal);
}

/**
 * Like {@link probeModels}, but throws an {@link EngineError} (`not-found`) if there is no list of models.
 *
 * @param kind subject of the error message: `a vLLM server`.
 */
export async function expectModels(
  server: Server,
  kind: string,
  model: string,
  signal: AbortSignal,
): Promise<ModelsProbe> {
  const offer = await probeModels(server, "/v1/models", model, signal);
  if (offer !== undefined) return offer;
  throw new EngineError(
    "not-found",
    `${server.name} has no list of models at /v1/models. Is this the URL of ${kind}?`,
  );
}
