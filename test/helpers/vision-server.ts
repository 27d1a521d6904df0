/**
 * A server of Chat Completions with a model that sees, on loopback. It answers by a script, and records its requests.
 */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { onTestFinished } from "vitest";
import * as z from "zod";
import { listenAnywhere } from "./listen.ts";

export interface VisionServer {
  /** The settings for this server. */
  readonly settings: { readonly visionUrl: string; readonly visionModel: string };
  /** The data URLs of the images, in order. */
  readonly images: readonly string[];
  readonly bodies: readonly Readonly<Record<string, unknown>>[];
  readonly headers: readonly IncomingHttpHeaders[];
}

/** A description, or a function that handles the request instead. */
export type VisionAnswer = string | ((response: ServerResponse) => void);

const body = z.looseObject({
  messages: z.tuple([
    z.object({
      content: z.tuple([
        z.object({ text: z.string() }),
        z.object({ image_url: z.object({ url: z.string() }) }),
      ]),
    }),
  ]),
});

/** Stops at the end of the test. */
export async function startVisionServer(
  answer: (call: number) => VisionAnswer = (call) => `Description ${call + 1}.`,
): Promise<VisionServer> {
  const images: string[] = [];
  const bodies: Record<string, unknown>[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const read = body.parse(JSON.parse(Buffer.concat(chunks).toString()));
      const given = answer(bodies.length);
      bodies.push(read);
      headers.push(request.headers);
      images.push(read.messages[0].content[1].image_url.url);
      if (typeof given === "function") return given(response);
      sendDescription(response, given);
    });
  });
  const port = await listenAnywhere(server);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    settings: { visionUrl: `http://127.0.0.1:${port}/v1`, visionModel: "sees" },
    images,
    bodies,
    headers,
  };
}

export function sendDescription(response: ServerResponse, content: string, finish = "stop"): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(
    JSON.stringify({
      choices: [{ index: 0, finish_reason: finish, message: { role: "assistant", content } }],
      usage: { prompt_tokens: 1000, completion_tokens: 20, total_tokens: 1020 },
    }),
  );
}
