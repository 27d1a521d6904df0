/** The processes of a streaming run: the engine, the load generator, and the contender between them. */
import { setTimeout as sleep } from "node:timers/promises";
import { cpuMs, type Helper, startHelper } from "../child.ts";
import type { Running } from "./contenders.ts";
import type { AlternatedTimes } from "./alternation.ts";
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

/** CPU, tokens and bytes of a contender up to a moment. */
export interface Snapshot {
  /** NaN if its process cannot be measured. */
  readonly cpuMs: number;
  /** Tokens that the engine has sent to it. */
  readonly tokens: number;
  /** Bytes that its clients have received. */
  readonly bytes: number;
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

  /** The processes of the engine and of the load generator. */
  get pids(): readonly number[] {
    return [this.#engine.pid, this.#load.pid];
  }

  /** Sets how the engine answers from now on. */
  async script(script: Script): Promise<void> {
    await this.#engine.ask(script);
  }

  /** Pauses the engine's paced streams, except those of these ports. */
  async resumeOnly(ports: readonly number[]): Promise<void> {
    await this.#engine.ask({ mode: "only", ports });
  }

  async stats(): Promise<UpstreamStats> {
    return this.#engine.ask("stats");
  }

  /** A further port of the engine, for a contender whose tokens are counted apart. */
  async listen(): Promise<number> {
    return this.#engine.ask("listen");
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
      group: running.contender.name,
      ...(ramp !== undefined && { ramp }),
    });
  }

  /** Snapshots of all at one moment, when the engine and the load generator reply. */
  async snapshot(all: readonly Running[]): Promise<Snapshot[]> {
    const counted: Promise<Record<string, number>> = this.#order({ do: "count" });
    const [{ tokensByPort }, bytes] = await Promise.all([this.stats(), counted]);
    return all.map(({ contender, pid, enginePort }) => ({
      cpuMs: pid === undefined ? NaN : cpuMs(pid),
      tokens: tokensByPort[enginePort] ?? 0,
      bytes: bytes[contender.name] ?? 0,
    }));
  }

  /** Connects `clients` clients to each, for {@link alternate}. Until {@link close}. */
  async connect(all: readonly Running[], clients: number, readsWords: boolean): Promise<void> {
    const targets = all.map((running) => ({ ...toStream(running), readsWords }));
    await this.#order({ do: "connect", targets, clients });
  }

  /** Sends requests to all contenders in turn for a time. */
  async alternate(ms: number): Promise<AlternatedTimes[]> {
    return this.#order({ do: "alternate", ms });
  }

  /** Sends requests to all contenders in turn until each has answered a number. */
  async warmUp(requests: number): Promise<void> {
    await this.#order({ do: "warm-up", requests });
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
