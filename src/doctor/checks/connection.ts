/** Checks that the server answers, its identity, and its models. */
import { EngineError } from "../../engines/engine-error.ts";
import { OtherModelError } from "../../engines/other-model.ts";
import { adviceFor } from "../engine-advice.ts";
import { type Check, type Finding, notApplicable, ok, printable, quoted } from "../finding.ts";

/** The check on which all others depend. */
export const REACHABLE: Check = {
  id: "reachable",
  title: "It answers",
  asked: "The gateway's probe: its models, its version, and one token.",
  means: "Requests fail until it answers.",
  async run(examination, signal) {
    const { clock, engine } = examination;
    const startedAt = clock.now();
    try {
      examination.probe = await engine.probe(signal);
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      examination.probeError = error;
      return explainProbeError(error);
    }
    return ok(`It answered after ${Math.round(clock.now() - startedAt)} ms.`);
  },
};

function explainProbeError(error: EngineError): Finding {
  const came = printable(error.message, 300);
  switch (error.kind) {
    case "not-found":
      // The server answered. Later checks report missing features.
      return ok("It answered.");
    case "auth":
      return {
        verdict: "broken",
        came,
        change: "Give its key as HARMONY_GATEWAY_ENGINE_KEY, or engineKey in the config file.",
      };
    case "loading":
      return { verdict: "broken", came, change: "Wait until the model is loaded, and ask again." };
    case "overloaded":
    case "rate-limit":
      return { verdict: "broken", came, change: "Ask again when it has less to do." };
    case "unreachable":
    case "unavailable":
    case "timeout":
      return { verdict: "broken", came, change: "Start the server, or correct --url." };
    case "closed":
    case "server-error":
    case "bad-request":
    case "context-length":
    case "tenant-limit":
      return {
        verdict: "broken",
        came,
        change: "Check with --engine that its kind is right, then read the server's own log.",
      };
    default:
      return error.kind satisfies never;
  }
}

const IDENTITY: Check = {
  id: "identity",
  title: "What it is",
  asked: "Its version, and which kind of server answers at its paths.",
  means: "The wrong kind of adapter reads answers wrongly or does without what the server can do.",
  async run({ engine, probe, probeError, findKind }, signal) {
    if (probeError instanceof OtherModelError) return ok(`It answers like ${engine.name}.`);
    const found = await findKind?.(signal).catch(() => undefined);
    const mayBe = found?.kind === "completions" ? undefined : found?.kind;
    if (mayBe !== undefined && mayBe !== engine.name && engine.name !== "auto") {
      return {
        verdict: probeError === undefined ? "degraded" : "broken",
        came: `It answers like ${mayBe}, and is configured as ${engine.name}.`,
        change: `--engine ${mayBe}`,
      };
    }
    if (probe !== undefined) return ok(printable(probe.description));
    return {
      verdict: "broken",
      came: "What answers is no server of this kind.",
      change: "Correct --url, or name the kind with --engine.",
    };
  },
};

const MODEL: Check = {
  id: "model",
  title: "It serves the model",
  asked: "Whether its list of models has the configured one.",
  means: "Requests for a model that the server does not have are refused.",
  async run({ engine, model, probe, probeError }) {
    if (probeError instanceof OtherModelError) {
      const { finding, change } = probeError;
      return {
        verdict: "broken",
        came: printable(finding, 600),
        means: "Its tokens mean other words: it can neither read nor write Harmony.",
        change,
      };
    }
    if (probe === undefined) {
      const came = probeError === undefined ? "The probe failed." : probeError.message;
      return {
        verdict: "broken",
        came: printable(came, 300),
        change: "Set --model to a name that the server offers.",
      };
    }
    const { models } = probe;
    if (models === undefined) return ok("It has no list; it takes any name.");
    const offer = printable(models.slice(0, 5).join(", "), 120);
    if (models.some((name) => name === model || name === `${model}:latest`))
      return ok(`It offers ${offer}.`);
    if (engine.name === "llama") return ok(`The file is ${offer}.`);
    return {
      verdict: "degraded",
      came: `It offers ${offer}, and answers for ${quoted(model)} all the same.`,
      means: "Nothing shows that this model is gpt-oss.",
      change: `--model ${models[0] ?? "<name>"}`,
    };
  },
};

/** Context for a prompt of a coding agent: instructions, tools and a few results. */
const ENOUGH_TOKENS = 32_768;

const CONTEXT: Check = {
  id: "context",
  title: "Its context is long enough",
  asked: "Tokens of prompt and answer together.",
  means: "Long conversations and coding agents are refused or cut.",
  async run({ kind, configuredContext, probe }) {
    const probed = probe?.contextLength;
    const change = adviceFor(kind).longerContext;
    if (probed === undefined && configuredContext === undefined) {
      return {
        verdict: "degraded",
        came: "It does not say.",
        means: "The gateway cannot tell clients that a prompt is too long before the server does.",
        change: "Set --context-length to what the server was started with.",
      };
    }
    if (probed !== undefined && configuredContext !== undefined && configuredContext > probed) {
      return {
        verdict: "broken",
        came: `${configuredContext} tokens are configured, and it has ${probed}.`,
        means: "Requests between the two are accepted by the gateway and refused by the server.",
        change: `Leave out --context-length, or: ${change}`,
      };
    }
    const tokens = configuredContext ?? probed ?? 0;
    const came = `${tokens} tokens.`;
    return tokens >= ENOUGH_TOKENS
      ? ok(came, { tokens })
      : { verdict: "degraded", came, change, measured: { tokens } };
  },
};

const HEALTH: Check = {
  id: "health",
  title: "Its health check passes",
  asked: "The path by which the gateway checks every few seconds whether it is up.",
  means: "The gateway takes the server for down and sends its requests elsewhere.",
  async run({ engine }, signal) {
    if (engine.check === undefined) {
      return notApplicable(
        "This engine has no health endpoint; its health is judged by its requests.",
      );
    }
    try {
      await engine.check(signal);
    } catch (error) {
      const isMissing = error instanceof EngineError && error.kind === "not-found";
      if (isMissing) return notApplicable(printable(error.message));
      throw error;
    }
    return ok("It is healthy.");
  },
};

/** Checks that still apply when the probe has failed. */
export const IDENTITY_CHECKS: readonly Check[] = [IDENTITY, MODEL];
export const CONNECTION_CHECKS: readonly Check[] = [CONTEXT, HEALTH];
