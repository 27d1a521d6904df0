/** The engines to serve, from the settings. */
import type * as z from "zod";
import { isHostedKind, isServerKind } from "../engines/find-kind.ts";
import type { backendEntry } from "./settings/engine.ts";
import type { Settings } from "./settings.ts";

/** The name of a model without a configured one. */
export const DEFAULT_MODEL = "openai/gpt-oss-20b";

export type BackendEntry = z.output<ReturnType<typeof backendEntry>>;

/** One configured engine with its settings resolved. */
export interface BackendSettings {
  /** Distinguishes the engine from others of its model. */
  readonly name: string;
  readonly engine: Settings["engine"];
  /** URL of the engine. Absent: the engine's default, if it has one. */
  readonly url: string | undefined;
  /** The model's name at the inference server. */
  readonly model: string;
  readonly engineKey: string | undefined;
  /** The operator has named no model, and the server lists its models. */
  readonly findsModel: boolean;
  /** The model's name for clients. */
  readonly servedName: string;
  readonly aliases: readonly string[];
  readonly contextLength: number | undefined;
  readonly maxConcurrent: number | undefined;
  readonly tokenEndpoint: boolean;
  /** Additional headers for every request to the engine. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  /** Additional body fields for every completion, by the server's names. */
  readonly extraBody: Readonly<Record<string, unknown>> | undefined;
}

/** The engines to serve: those of `backends`, or one engine from the single settings. */
export function toBackends(settings: Settings): readonly BackendSettings[] {
  const seen = new Map<string, number>();
  return toEntries(settings).map((each) => {
    const given = each.model ?? settings.model;
    const model = given ?? DEFAULT_MODEL;
    const isInProcess = each.engine === "auto" && each.url === undefined && isGgufFile(model);
    const engine = isInProcess ? "llama" : each.engine;
    const servedName = each.servedName ?? (engine === "llama" ? toModelName(model) : model);
    const kind = `${engine} for ${servedName}`;
    const before = seen.get(kind) ?? 0;
    seen.set(kind, before + 1);
    return {
      name: each.name ?? (before === 0 ? engine : `${engine}-${before + 1}`),
      engine,
      url: each.url,
      model,
      findsModel: given === undefined && hasModelList(engine),
      engineKey: each.engineKey,
      servedName,
      aliases: each.aliases,
      contextLength: each.contextLength,
      maxConcurrent: each.maxConcurrent,
      tokenEndpoint: each.tokenEndpoint,
      headers: each.headers,
      extraBody: each.extraBody,
    };
  });
}

/** The entries of `backends`, or one entry from the single settings. */
export function toEntries(settings: Settings): readonly BackendEntry[] {
  return settings.backends.length > 0 ? settings.backends : [settings];
}

/** Whether the server's list is the operator's choice of models, unlike a hosted provider's. */
function hasModelList(engine: Settings["engine"]): boolean {
  return engine === "auto" || (isServerKind(engine) && !isHostedKind(engine));
}

/** All spellings by which a name is found, without a suffix. */
export function spellings(name: string): readonly string[] {
  return [name, name.replace(/^openai\//, ""), `openai/${name}`];
}

/** Names of the served models by every spelling, including aliases. */
export function servedNames(settings: Settings): ReadonlyMap<string, string> {
  const names = toBackends(settings).flatMap(({ servedName, aliases }) => [servedName, ...aliases]);
  return new Map(names.flatMap((name) => spellings(name).map((each) => [each, name] as const)));
}

/** Whether a model's name is a file for the engine `llama`. */
export function isGgufFile(model: string): boolean {
  return /^hf:/i.test(model) || /\.gguf$/i.test(model);
}

/** The public name, such as `openai/gpt-oss-20b` for `/models/gpt-oss-20b-mxfp4.gguf`, which hides the path from clients. */
export function toModelName(model: string): string {
  if (!isGgufFile(model)) return model;
  const file = model.split(/[/\\]/).at(-1) ?? model;
  const size = /gpt-?oss-?(\d+b)/i.exec(file)?.[1]?.toLowerCase();
  return size === undefined ? file.replace(/\.gguf$/i, "") : `openai/gpt-oss-${size}`;
}
