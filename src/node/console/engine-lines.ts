/** Lines about engines: ready, missing, lost and back, each with the command to type next. */
import * as z from "zod";
import type { LogFields } from "../../telemetry/log.ts";
import { commandName } from "../cli/command-io.ts";
import { started, type Started } from "./greeting.ts";
import { type Paint, toCount, toWord } from "./paint.ts";

const foundEngines = z.array(
  z.object({ kind: z.string(), url: z.string(), models: z.array(z.string()) }),
);

export class EngineLines {
  readonly #painted: Paint;
  #backends: Started["backends"] = [];
  /** Time at which each model or backend was lost. */
  readonly #lostAt = new Map<string, Date>();

  constructor(painted: Paint) {
    this.#painted = painted;
  }

  start(backends: Started["backends"]): void {
    this.#backends = backends;
  }

  /** `✓  openai/gpt-oss-20b is ready   vllm 0.14.1 at http://127.0.0.1:8000 · 131,072 tokens` */
  ready(fields: LogFields, at: Date): string {
    const context = toCount(fields["contextLength"]);
    const url = this.#urlOf(fields);
    const where = url === undefined ? "" : ` at ${toWord(url)}`;
    const length = context === undefined ? "" : ` · ${context} tokens`;
    const text = `${toWord(fields["model"])} is ready   ${toWord(fields["description"])}`;
    return `${this.#good()}  ${text}${where}${length}${this.#toAfter(toWord(fields["model"]), at)}`;
  }

  unavailable(fields: LogFields, at: Date): string {
    this.#lose(toWord(fields["model"]), at);
    return (
      `${this.#bad()}  ${toWord(fields["model"])}: ${toWord(fields["reason"])}\n` +
      "             Retrying; requests get 503 until it answers."
    );
  }

  /** Unconfigured engines on this machine, with the command that uses each. */
  found({ engines }: LogFields): string {
    const found = foundEngines.safeParse(engines).data ?? [];
    const rows = found.map(({ kind, url, models }) => {
      const [first] = models;
      const name = first === undefined ? "" : ` with ${toWord(first)}`;
      return `               ${toWord(kind)}${name}   ${commandName()} --url ${toWord(url)}`;
    });
    return ["Engines on this machine, not used unless you say so:", ...rows].join("\n");
  }

  models({ backends }: LogFields): string {
    const served = started.shape.backends.safeParse(backends);
    if (!served.success) return "";
    this.#backends = served.data;
    const names = new Set(served.data.map(({ model }) => toWord(model)));
    return `${this.#good()}  serving ${[...names].join(", ")}`;
  }

  up(fields: LogFields, at: Date): string {
    const name = toName(fields);
    return `${this.#good()}  ${name} answers again${this.#toAfter(name, at)}`;
  }

  down(event: string, fields: LogFields, at: Date): string {
    const name = toName(fields);
    this.#lose(name, at);
    const state = event.replace("backend ", "");
    const url = this.#urlOf(fields);
    const check =
      url === undefined
        ? ""
        : `\n             Check it: ${commandName()} doctor --url ${toWord(url)}`;
    return `${this.#bad()}  ${name} is ${state}: ${toWord(fields["reason"])}${check}`;
  }

  #urlOf({ model, backend }: LogFields): string | undefined {
    const ours = this.#backends.filter((each) => each.model === model);
    const exact = ours.find((each) => each.backend === backend);
    return (exact ?? (ours.length === 1 ? ours[0] : undefined))?.url;
  }

  #lose(name: string, at: Date): void {
    if (!this.#lostAt.has(name)) this.#lostAt.set(name, at);
  }

  #toAfter(name: string, at: Date): string {
    const lost = this.#lostAt.get(name);
    this.#lostAt.delete(name);
    if (lost === undefined) return "";
    return `   after ${Math.round((at.getTime() - lost.getTime()) / 1000)} s`;
  }

  #good(): string {
    return this.#painted("green", "✓");
  }

  #bad(): string {
    return this.#painted("red", "✗");
  }
}

function toName({ model, backend }: LogFields): string {
  return `${toWord(model)} (${toWord(backend)})`;
}
