/** The processes of a streaming run: the engine, the load generator, and the contender between them. */
import { setTimeout as sleep } from "node:timers/promises";
import { cpuMs, type Helper, startHelper } from "../child.ts";
import type { Running } from "./contenders.ts";
import type { AskedTimes, LoadCommand, LoadCounts } from "./load.ts";
import { type ClientRequest, createRequest } from "./requests.ts";
import type { StreamOptions } from "./stream.ts";
import type { Script, UpstreamStats } from "./upstream.ts";

/** The measurements of a time window. */
export interface Window extends LoadCounts {
  /** Tokens the engine sent. */
  readonly tokens: number;
  /** CPU time of the contender. NaN if its process cannot be measured. */
  readonly cpuMs: number;
}

export class Rig {
  readonly enginePort: number;
  readonly #engine: Helper;
  readonly #load: Helper;

  static async start(enginePort = 0): Promise<Rig> {
    const engine = await startHelper(new URL("./upstream.ts", import.meta.url), {
      args: [String(enginePort)],
      greets: true,
    });
    return new Rig(
      engine,
      await startHelper(new URL("./load.ts", import.meta.url), { greets: true }),
    );
  }

  private constructor(engine: Helper, load: Helper) {
    this.#engine = engine;
    this.#load = load;
    this.enginePort = Number(engine.greeting);
  }

  /** Sets how the engine answers from now on. */
  async script(script: Script): Promise<void> {
    await this.#engine.ask(script);
  }

  async stats(): Promise<UpstreamStats> {
    return this.#engine.ask("stats");
  }

  async open(
    running: Running,
    streams: number,
    options: Partial<StreamOptions> & { readonly ramp?: number } = {},
  ): Promise<void> {
    const { ramp, ...stream } = options;
    await this.#order({
      do: "start",
      streams,
      stream: { ...toStream(running), ...stream },
      ...(ramp !== undefined && { ramp }),
    });
  }

  async close(): Promise<void> {
    await this.#order({ do: "stop" });
  }

  /** Measures the next `ms`, after `settleMs` of warm-up. */
  async watch(running: Running, ms: number, settleMs: number): Promise<Window> {
    await sleep(settleMs);
    const cpu = (): number => (running.pid === undefined ? NaN : cpuMs(running.pid));
    await this.#order({ do: "mark" });
    const before = { tokens: (await this.stats()).tokens, cpu: cpu() };
    await sleep(ms);
    const after = { tokens: (await this.stats()).tokens, cpu: cpu() };
    const counts: LoadCounts = await this.#order({ do: "read" });
    return { ...counts, tokens: after.tokens - before.tokens, cpuMs: after.cpu - before.cpu };
  }

  async ask(running: Running, requests: readonly ClientRequest[]): Promise<AskedTimes> {
    const stream = { ...toStream(running), readsWords: true };
    return this.#order({ do: "ask", stream, requests });
  }

  async stop(): Promise<void> {
    await Promise.all([this.#engine.stop(), this.#load.stop()]);
  }

  async #order(command: LoadCommand): Promise<any> {
    const { result, failure } = await this.#load.ask(command);
    if (failure !== undefined) throw new Error(failure);
    return result;
  }
}

function toStream({ contender, target }: Running): StreamOptions {
  return {
    target,
    wire: contender.wire,
    request: createRequest(contender.wire),
    readsWords: false,
  };
}
