/** A running gateway, as a client has to know it: address, models with their context lengths, key. */
import * as z from "zod";
import { readBounded } from "../../../tools/read-bounded.ts";

export interface ConnectedModel {
  readonly id: string;
  readonly contextLength: number;
}

export interface Target {
  /** Without a slash at its end. With a path where a proxy puts the gateway below one. */
  readonly origin: string;
  readonly models: readonly [ConnectedModel, ...ConnectedModel[]];
  /** Undefined: the gateway needs none. */
  readonly key: string | undefined;
}

const modelList = z.object({
  data: z
    .array(z.object({ id: z.string().max(200), context_length: z.number().nullish() }))
    .max(1000),
});

/** The context length of gpt-oss. */
const LONGEST_CONTEXT = 131_072;
const TIMEOUT_MS = 5_000;
const MAX_BYTES = 1_000_000;

/** Throws an error with one sentence and what to type. */
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
  const [first, ...rest] = list.data?.data ?? [];
  if (first === undefined) {
    throw new TypeError(`What answers at ${origin} is no gateway: ${url} has no list of models.`);
  }
  const toModel = ({ id, context_length }: typeof first): ConnectedModel => ({
    id,
    contextLength: context_length ?? LONGEST_CONTEXT,
  });
  return { origin, key, models: [toModel(first), ...rest.map((each) => toModel(each))] };
}

async function readJson(response: Response): Promise<unknown> {
  try {
    const bytes = await readBounded(response.body, MAX_BYTES);
    return bytes && JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}
