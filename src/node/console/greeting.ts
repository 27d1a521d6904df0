/** The screen at the start: addresses of the APIs and pages, and a request to try. */
import * as z from "zod";
import { isLoopback } from "../../config/loopback.ts";
import { type Paint, toTable } from "./paint.ts";

export const started = z.object({
  baseUrl: z.string(),
  version: z.string(),
  keys: z.number(),
  seconds: z.number(),
  inspect: z.string().optional(),
  inspectMaxRecords: z.number().optional(),
  metrics: z.string().optional(),
  store: z.string().optional(),
  backends: z.array(
    z.object({
      model: z.string(),
      backend: z.string(),
      engine: z.string(),
      url: z.string().optional(),
    }),
  ),
});

export type Started = z.infer<typeof started>;

export function toGreeting(
  {
    baseUrl,
    version,
    keys,
    seconds,
    backends,
    inspect,
    inspectMaxRecords,
    metrics,
    store,
  }: Started,
  painted: Paint,
): string {
  const origin = baseUrl.replace(/\/v1$/, "");
  const head = `${painted("bold", "harmony-gateway")} ${version}`;
  const row = (name: string, text: string) =>
    `  ${painted("green", "➜")}  ${painted("bold", name.padEnd(9))}  ${text}`;
  const note = (text: string) => `                ${painted("dim", text)}`;
  return [
    "",
    `  ${head}  ${painted("dim", `ready in ${toSeconds(seconds)}`)}`,
    "",
    row("Home", painted("cyan", `${origin}/`)),
    row("OpenAI", painted("cyan", baseUrl) + painted("dim", toKeyNote(baseUrl, keys))),
    row("Anthropic", painted("cyan", origin)),
    ...(inspect === undefined
      ? []
      : [
          row("Inspector", painted("cyan", inspect)),
          note(`keeps ${toRecords(inspectMaxRecords)} in memory; --no-inspect turns it off`),
        ]),
    ...(metrics === undefined ? [] : [row("Metrics", painted("cyan", metrics))]),
    row("Try", toCurl(baseUrl, keys > 0)),
    ...(store === "memory"
      ? [note("stored responses end with this process; --store sqlite:state.db keeps them")]
      : []),
    "",
    ...toServed(backends, painted),
    "",
  ].join("\n");
}

function toSeconds(seconds: number): string {
  return seconds < 1 ? `${Math.round(seconds * 1000)} ms` : `${seconds.toFixed(1)} s`;
}

function toKeyNote(baseUrl: string, keys: number): string {
  if (keys > 0) return "     with a key";
  return isLoopback(new URL(baseUrl).hostname) ? "     no key needed on this machine" : "";
}

function toRecords(records: number | undefined): string {
  return records === undefined ? "turns" : `the last ${records.toLocaleString("en-US")} turns`;
}

/** The configured engines, before their first answer. Their state follows in further lines. */
function toServed(backends: Started["backends"], painted: Paint): string[] {
  const [first] = backends;
  if (first === undefined) return ["  No model is configured."];
  if (backends.length > 1) {
    const rows = backends.map((each) => [each.model, each.backend, each.engine, each.url ?? ""]);
    return toTable([["model", "backend", "engine", "url"], ...rows]).map((line) => `  ${line}`);
  }
  const text = describeEngine(first.engine, first.url);
  return [`  ${painted("bold", first.model)} from ${text}`];
}

function describeEngine(engine: string, url: string | undefined): string {
  switch (engine) {
    case "demo":
      return "the built-in demo: it answers by fixed rules. Your own model: --url or --model";
    case "llama":
      return "llama.cpp in this process";
    case "auto":
      return `the server at ${url}`;
    default:
      return url === undefined ? engine : `${engine} at ${url}`;
  }
}

/** A line to paste into a shell. The request names no model: the gateway's first one answers. */
export function toCurl(baseUrl: string, needsKey: boolean): string {
  const body = JSON.stringify({ messages: [{ role: "user", content: "Hello!" }] });
  const key = needsKey ? " -H 'Authorization: Bearer <key>'" : "";
  return `curl ${baseUrl}/chat/completions${key} -d '${body}'`;
}
