/** Encoders of `o200k`, ours and others', each loaded on demand. */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

export interface LoadedEncoder {
  encode(text: string): ArrayLike<number>;
}

const ENCODER_NAMES = ["own", "js-tiktoken", "gpt-tokenizer", "tiktoken-wasm"] as const;
export type EncoderName = (typeof ENCODER_NAMES)[number];

export function toEncoderName(text: string | undefined): EncoderName {
  const name = ENCODER_NAMES.find((each) => each === text);
  if (name === undefined) throw new Error(`${text} is none of ${ENCODER_NAMES.join(", ")}`);
  return name;
}

/** The installed encoders. */
export function availableEncoders(): EncoderName[] {
  return ENCODER_NAMES.filter((name) => name === "own" || name === "js-tiktoken" || hasPeer(name));
}

export async function loadEncoder(name: EncoderName): Promise<LoadedEncoder> {
  switch (name) {
    case "own":
      return loadOwn();
    case "js-tiktoken": {
      const { Tiktoken } = await import("js-tiktoken/lite");
      const { default: ranks } = await import("js-tiktoken/ranks/o200k_base");
      const encoding = new Tiktoken(ranks);
      return { encode: (text) => encoding.encode(text, [], []) };
    }
    case "gpt-tokenizer": {
      const { encode } = await importPeer("gpt-tokenizer/encoding/o200k_base");
      const options = { disallowedSpecial: new Set<string>() };
      return { encode: (text) => encode(text, options) };
    }
    case "tiktoken-wasm": {
      const tiktoken = await importPeer("tiktoken");
      const encoding = tiktoken.get_encoding("o200k_base");
      return { encode: (text) => encoding.encode(text, [], []) };
    }
    default:
      return name satisfies never;
  }
}

/** The build if there is one: stripping types from sources adds 50 ms to a cold start. */
async function loadOwn(): Promise<LoadedEncoder> {
  const built = new URL("../../../dist/tokenizer/index.js", import.meta.url);
  const sources = new URL("../../../src/tokenizer/index.ts", import.meta.url);
  const { o200kHarmony } = await import((existsSync(built) ? built : sources).href);
  return o200kHarmony();
}

const peers = createRequire(new URL("../peers/package.json", import.meta.url));

/** Imports a peer's package. It is not a dependency of the project, so it has no types here. */
function importPeer(specifier: string): Promise<any> {
  return import(pathToFileURL(peers.resolve(specifier)).href);
}

function hasPeer(name: string): boolean {
  try {
    peers.resolve(name === "tiktoken-wasm" ? "tiktoken" : name);
    return true;
  } catch {
    return false;
  }
}
