/** Paths of OpenAI's API that other servers have: the 404 names the alternatives. */
import { Hono } from "hono";
import type { ApiEnv } from "./request/client.ts";
import { noSuchPath } from "./errors.ts";

/** @param alternatives a sentence that names the paths that exist. */
export function unsupportedPaths(alternatives: string): Hono<ApiEnv> {
  const routes = new Hono<ApiEnv>();
  for (const [path, sentence] of Object.entries(UNSUPPORTED)) {
    routes.all(path, () => {
      throw noSuchPath(`${sentence} ${alternatives}`);
    });
  }
  return routes;
}

const ONLY_TEXT = "gpt-oss reads and writes text only.";

const UNSUPPORTED: Readonly<Record<string, string>> = {
  "/completions":
    "There are no text completions here: the gateway writes gpt-oss's prompt format itself, from messages.",
  "/embeddings": "There are no embeddings here: gpt-oss does not make any.",
  "/moderations": "There are no moderations here.",
  "/images/*": `There are no images here: ${ONLY_TEXT}`,
  "/audio/*": `There is no audio here: ${ONLY_TEXT}`,
  "/realtime": `There is no realtime API here: ${ONLY_TEXT}`,
  "/files": "No files are kept here.",
  "/files/*": "No files are kept here.",
  "/batches": "There are no batches here.",
  "/batches/*": "There are no batches here.",
  "/assistants": "There is no Assistants API here; the Responses API has replaced it.",
  "/assistants/*": "There is no Assistants API here; the Responses API has replaced it.",
  "/threads": "There is no Assistants API here; the Responses API has replaced it.",
  "/threads/*": "There is no Assistants API here; the Responses API has replaced it.",
};
