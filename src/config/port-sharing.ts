/** Several processes on one port: which settings they need, since a client's next request may reach another process. */
import type { Settings } from "./settings.ts";

/** Reasons not to start. */
export function portProblems(settings: Settings): string[] {
  const { metricsPort, port, reusePort } = settings;
  const problems: string[] = [];
  if (metricsPort !== undefined && metricsPort === port && port !== 0) {
    problems.push(`metricsPort ${metricsPort}: is the same as port. Choose another one.`);
  }
  if (!reusePort) return problems;
  if (port === 0) {
    problems.push(
      "reusePort: with port 0 each process would listen on a port of its own. Choose a port.",
    );
  }
  if (settings.store === "memory" && !isSealed(settings)) {
    problems.push(
      "reusePort: with the store memory, a process does not find what another one has stored. Share a store, for instance " +
        "--store sqlite:state.db, or set reasoningPolicy to sealed and have clients send store: false.",
    );
  }
  return problems;
}

/** What an operator has to know although the gateway starts. */
export function portWarnings(settings: Settings): string[] {
  if (!settings.reusePort || settings.store !== "memory") return [];
  return [
    "reusePort: stored responses, conversations and background responses are found only by the process that made them. " +
      "Clients must send store: false. A shared store, for instance --store sqlite:state.db, removes this limit.",
  ];
}

/** Reasoning travels with the clients of all keys, so no process has to keep it. */
function isSealed({ keys, reasoningPolicy }: Settings): boolean {
  return [reasoningPolicy, ...keys.map((key) => key.reasoningPolicy)].every(
    (policy) => policy === undefined || policy === "sealed",
  );
}
