/** The interface of a phase: its input, and its report with figures and violated invariants. */
import { setTimeout as pause } from "node:timers/promises";
import type { Random } from "../fuzz/random.ts";
import { type Asking, MODEL } from "./asking.ts";
import { ask, CLIENT_KINDS, type ClientKind, type Outcome } from "./clients.ts";
import { type ChaosEngine, startChaosEngine } from "./engine.ts";
import { type ChaosGateway, type Occupied, startChaosGateway } from "./gateway.ts";

export interface Phase {
  readonly name: string;
  readonly says: string;
  /** Undefined if it can run; otherwise the reason why not on this machine. */
  readonly missing?: string | undefined;
  run(random: Random): Promise<PhaseReport>;
}

export interface PhaseReport {
  /** Requests by outcome. */
  readonly outcomes: readonly Outcome[];
  readonly slowestHealthMs: number;
  readonly longestHoldMs: number;
  readonly violations: readonly string[];
  /** A remark for the table. */
  readonly note?: string;
}

/** Keys of the tenants, as clients send them. */
const TENANTS = { a: "sk-chaos-a", b: "sk-chaos-b", c: "sk-chaos-c" } as const;

const KEYS = [
  "a:f7ba1e1909248f35b9ac986b9409bef6ded55c069a5f279827a38057461eb25e",
  "b:4288760c3a1891ca3dd787c287b8517671d773baf2c956dc1086114793ad81a1",
  "c:c1391d2e681ecd28ebb8713659ecbbd89a78faebe40467a347368ac2dd4f973a",
];

const WORDS = 12;
export const TOKEN_MS = 20;

export interface Stage {
  readonly gateway: ChaosGateway;
  readonly engines: readonly ChaosEngine[];
  /** The setting `keys` of its gateway. */
  readonly keys: readonly string[];
  readonly violations: string[];
  /** Sends a request and records the outcome. */
  ask(
    kind: ClientKind,
    tenant: keyof typeof TENANTS,
    says?: string,
    words?: number,
  ): Promise<Outcome>;
  /** The next request, to be sent in another way. */
  next(tenant: keyof typeof TENANTS, says?: string): Asking;
  /** Records a violation unless the condition holds. */
  expect(holds: boolean, otherwise: string): void;
}

export interface StageOptions {
  readonly engines: number;
  /** Options of each engine. */
  readonly maxConcurrent?: number;
  readonly settings?: Readonly<Record<string, unknown>>;
}

let numbers = 0;

/** Runs a script against a gateway with engines, and checks all requests at the end. */
export async function onStage(
  options: StageOptions,
  script: (stage: Stage) => Promise<string | undefined>,
): Promise<PhaseReport> {
  const engines = await Promise.all(
    Array.from({ length: options.engines }, () =>
      startChaosEngine({ words: WORDS, tokenMs: TOKEN_MS }),
    ),
  );
  const outcomes: Outcome[] = [];
  const violations: string[] = [];
  let gateway: ChaosGateway | undefined;
  try {
    gateway = await startChaosGateway(
      {
        backends: engines.map(({ url }) => ({
          engine: "vllm",
          url,
          // Named: a gateway that finds it later, on a busy machine, would replace its settings and close its sockets.
          model: MODEL,
          ...(options.maxConcurrent !== undefined && { maxConcurrent: options.maxConcurrent }),
        })),
        keys: KEYS,
        firstTokenTimeoutMs: 3_000,
        idleTimeoutMs: 2_000,
        connectTimeoutMs: 1_000,
        healthIntervalMs: 500,
        ...options.settings,
      },
      TENANTS.a,
    );
    const { origin } = gateway;
    const next: Stage["next"] = (tenant, says) => ({
      origin,
      key: TENANTS[tenant],
      number: ++numbers,
      words: WORDS,
      ...(says !== undefined && { says }),
    });
    const stage: Stage = {
      gateway,
      engines,
      keys: KEYS,
      violations,
      next,
      async ask(kind, tenant, says, words = WORDS) {
        const outcome = await ask(kind, { ...next(tenant, says), words });
        outcomes.push(outcome);
        return outcome;
      },
      expect(holds, otherwise) {
        if (!holds) violations.push(otherwise);
      },
    };
    const note = await script(stage);
    violations.push(...judge(outcomes, gateway));
    return {
      outcomes,
      violations,
      slowestHealthMs: gateway.slowestHealthMs,
      longestHoldMs: gateway.longestHoldMs,
      ...(note !== undefined && { note }),
    };
  } finally {
    await gateway?.kill();
    await Promise.all(engines.map((engine) => engine.kill()));
  }
}

/** Maximum time the event loop may be blocked. `/health` also depends on other load on the machine. */
const HOLD_LIMIT_MS = 200;

function judge(outcomes: readonly Outcome[], gateway: ChaosGateway): string[] {
  const defects = outcomes.filter(({ end }) => end === "defect");
  const violations = defects
    .slice(0, 3)
    .map(({ kind, status, detail }) => `defect: ${kind} ${status} ${detail}`);
  if (defects.length > 3) violations.push(`and ${defects.length - 3} more defects`);
  if (gateway.slowestHealthMs === Infinity) violations.push("/health was not answered");
  if (gateway.longestHoldMs > HOLD_LIMIT_MS) {
    violations.push(`the event loop was held for ${Math.round(gateway.longestHoldMs)} ms`);
  }
  return violations;
}

/** After all requests nothing is in flight or queued, and no engine is generating. */
export async function expectQuiet(stage: Stage, withinMs = 10_000): Promise<void> {
  const deadline = performance.now() + withinMs;
  let seen: (Occupied & { readonly open: number }) | undefined;
  while (performance.now() < deadline) {
    const open = stage.engines.reduce((sum, engine) => sum + engine.open, 0);
    seen = { ...(await stage.gateway.occupied()), open };
    if (seen.inFlight === 0 && seen.queued === 0 && seen.turns === 0 && seen.open === 0) return;
    await pause(100);
  }
  stage.expect(false, `not quiet ${withinMs} ms after the last answer: ${JSON.stringify(seen)}`);
}

export async function expectHealed(stage: Stage, withinMs = 20_000): Promise<void> {
  const deadline = performance.now() + withinMs;
  let up = 0;
  while (performance.now() < deadline) {
    up = (await stage.gateway.occupied()).up;
    if (up === stage.engines.length) return;
    await pause(200);
  }
  stage.expect(
    false,
    `${up} of ${stage.engines.length} engines are up ${withinMs} ms after healing`,
  );
}

/** A random request of one of the kinds; some disconnect. */
export function anyKind(random: Random): ClientKind {
  return random.pick(CLIENT_KINDS);
}

export function notWhole(outcomes: readonly Outcome[]): Outcome[] {
  return outcomes.filter(({ end }) => end !== "complete" && end !== "disconnected");
}

export function tell(outcomes: readonly Outcome[]): string {
  return outcomes
    .slice(0, 3)
    .map(({ kind, end, status, detail }) => `${kind} ${end} ${status} ${detail.slice(0, 160)}`)
    .join("; ");
}
