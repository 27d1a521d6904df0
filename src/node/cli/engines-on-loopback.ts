/** Finds inference servers on this machine and names them. Using one takes the operator's flag. */
import { findServer, type FoundServer } from "../../engines/find-kind.ts";
import { servableModels } from "../../engines/auto.ts";
import type { Transport } from "../../engines/transport.ts";

/** The usual ports of vLLM and TensorRT-LLM, llama-server, Ollama, LM Studio, SGLang. */
const PORTS = [8000, 8080, 11_434, 1234, 30_000] as const;

const TIMEOUT_MS = 300;

export interface EngineOnLoopback {
  readonly kind: FoundServer["kind"];
  readonly url: string;
  readonly models: readonly string[];
}

/** Servers without a model to serve are left out. @param exclude URLs that are configured. */
export async function findEnginesOnLoopback(
  transport: Transport,
  exclude: readonly string[] = [],
  ports: readonly number[] = PORTS,
): Promise<EngineOnLoopback[]> {
  const taken = new Set(exclude.map((url) => portOnLoopback(url)));
  const found = await Promise.all(
    ports.filter((port) => !taken.has(port)).map((port) => ask(transport, port)),
  );
  return found.filter((each) => each !== undefined);
}

async function ask(transport: Transport, port: number): Promise<EngineOnLoopback | undefined> {
  const url = `http://127.0.0.1:${port}`;
  try {
    const server = await findServer(
      { url, model: "", transport, connectTimeoutMs: TIMEOUT_MS },
      AbortSignal.timeout(TIMEOUT_MS),
    );
    const models = servableModels(server).slice(0, 4);
    return models.length === 0 ? undefined : { kind: server.kind, url, models };
  } catch {
    return undefined;
  }
}

function portOnLoopback(url: string): number | undefined {
  const { hostname, port, protocol } = new URL(url);
  if (!/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)) return undefined;
  return Number(port) || (protocol === "https:" ? 443 : 80);
}
