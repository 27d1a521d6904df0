/** A gateway as a client needs it: address, models with their context lengths, key. */
import * as z from "zod";
import { DEFAULT_MODEL } from "../../../config/backends.ts";
import type { Settings } from "../../../config/settings.ts";
import { GPT_OSS_CONTEXT } from "../../../engines/models-probe.ts";
import type { CatalogueModel } from "../../../api/codex-catalogue.ts";
import type { Models } from "../../../models/models.ts";
import type { Preset } from "../../../turn/preset.ts";
import { readBounded } from "../../../tools/read-bounded.ts";

export interface ConnectedModel extends CatalogueModel {
  readonly contextLength: number;
  /** Maximum output tokens that a client may request. Half of the context stays for the prompt. */
  readonly maxOutputTokens: number;
  /** The model is one of the operator's presets. */
  readonly isPreset: boolean;
}

export interface Target {
  /** The URL without a slash at its end. It has a path where a proxy serves the gateway below one. */
  readonly origin: string;
  /** The models that `/v1/models` lists: models, then presets. */
  readonly models: readonly [ConnectedModel, ...ConnectedModel[]];
  /** Undefined: the gateway needs none. */
  readonly key: string | undefined;
}

const modelList = z.object({
  data: z
    .array(
      z.object({
        id: z.string().max(200),
        canonical_slug: z.string().optional(),
        description: z.string().max(1000).optional(),
        context_length: z.int().positive().nullish(),
        max_output_tokens: z.int().positive().nullish(),
        architecture: z.object({ input_modalities: z.array(z.string()) }).nullish(),
        reasoning: z
          .object({ default_effort: z.enum(["none", "low", "medium", "high"]) })
          .optional(),
      }),
    )
    .max(1000),
});

/**
 * Clients replace `{file:…}`, `$NAME` or `${{ secrets.NAME }}` in their settings: in the name of a model, such text would send a
 * file or a key of the user to the gateway. Characters that are not printable would break the files.
 */
const NOT_IN_NAMES = /[${}\p{C}\p{Zl}\p{Zp}]/u;

const TIMEOUT_MS = 5_000;
const MAX_BYTES = 1_000_000;
/** Maximum output tokens: agents reserve this part of the context for an answer, and the rest must hold the prompt. */
const ENOUGH_OUTPUT = 32_768;

/**
 * Reads the address and models of the running gateway.
 *
 * @throws TypeError whose message is one sentence with the command to type
 */
export async function askTarget(
  origin: string,
  key: string | undefined,
  fetchFn: typeof fetch = fetch,
): Promise<Target> {
  const url = `${origin}/v1/models`;
  let response: Response;
  try {
    response = await fetchFn(url, {
      headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  } catch {
    throw new TypeError(
      `No gateway answers at ${origin}. Start it, or name another one with --gateway, for instance --gateway https://llm.example.com.`,
    );
  }
  if (response.status === 401) {
    throw new TypeError(
      key === undefined
        ? `The gateway at ${origin} requires a key. Add --key, or set HARMONY_GATEWAY_KEY.`
        : `The gateway at ${origin} refuses the key. harmony-gateway key makes one.`,
    );
  }
  const list = modelList.safeParse(await readJson(response));
  const [first, ...rest] = (list.data?.data ?? []).map((entry) => ({
    ...toSizes(entry.context_length ?? GPT_OSS_CONTEXT, entry.max_output_tokens ?? undefined),
    id: entry.id,
    isPreset: entry.canonical_slug !== undefined && entry.canonical_slug !== entry.id,
    description: entry.description,
    effort: entry.reasoning?.default_effort,
    seesImages: entry.architecture?.input_modalities.includes("image") ?? false,
  }));
  if (first === undefined) {
    throw new TypeError(`The server at ${origin} is not a gateway: ${url} has no list of models.`);
  }
  const models = [first, ...rest] as const;
  const unsafe = models.find(({ id }) => NOT_IN_NAMES.test(id));
  if (unsafe !== undefined) {
    throw new TypeError(
      `The gateway at ${origin} names a model ${JSON.stringify(unsafe.id)}: clients could read a part of the name as a variable or a file. Serve it under another name: servedName.`,
    );
  }
  return { origin, key, models };
}

/** The gateway of this process. */
export function targetOfModels(models: Models, origin: string, settings: Settings): Target {
  const seesImages = settings.visionUrl !== undefined;
  const described = models.all.map(({ id, contextLength = GPT_OSS_CONTEXT }) =>
    toModel(id, contextLength, seesImages),
  );
  const presets = models.presets.flatMap(({ model, preset }) =>
    preset.unlisted ? [] : [toPreset(preset, model.contextLength ?? GPT_OSS_CONTEXT, seesImages)],
  );
  const [first = DEFAULT, ...rest] = described;
  return { origin, key: keyOf(settings), models: [first, ...rest, ...presets] };
}

function keyOf({ keys }: Settings): string | undefined {
  return keys.length > 0 ? "<your key>" : undefined;
}

function toModel(id: string, contextLength: number, seesImages: boolean): ConnectedModel {
  return { ...toSizes(contextLength), id, isPreset: false, seesImages };
}

function toPreset(
  { name, description, effort, maxOutputTokens }: Preset,
  contextLength: number,
  seesImages: boolean,
): ConnectedModel {
  return {
    ...toSizes(contextLength, maxOutputTokens),
    id: name,
    isPreset: true,
    seesImages,
    description,
    effort,
  };
}

function toSizes(contextLength: number, limit = contextLength) {
  const half = Math.floor(contextLength / 2);
  return { contextLength, maxOutputTokens: Math.min(ENOUGH_OUTPUT, half, limit) };
}

/** The model of a gateway that serves none yet. */
const DEFAULT = toModel(DEFAULT_MODEL, GPT_OSS_CONTEXT, false);

async function readJson(response: Response): Promise<unknown> {
  try {
    const bytes = await readBounded(response.body, MAX_BYTES);
    return bytes && JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}
