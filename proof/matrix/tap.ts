/**
 * A proxy between client and gateway, for HTTP and WebSocket. It records the tools that the client offered and those
 * that the gateway reported as left out. A tool that is neither in a prompt nor reported was dropped silently.
 */
import { createServer, type IncomingHttpHeaders } from "node:http";
import { Readable } from "node:stream";
import { type RawData, WebSocket, WebSocketServer } from "ws";
import { z } from "zod";
import { listenAnywhere } from "../../test/helpers/listen.ts";
import type { ExactSteps, OfferedTools } from "./client.ts";

export interface Tap {
  /** The gateway's URL for the client. */
  readonly baseURL: string;
  /** The path to the gateway. */
  forwardTo(origin: string): void;
  /** Requests over HTTP, and messages over WebSocket. */
  readonly counts: { http: number; webSocket: number };
  /** Records the gateway's counts of skipped tools before it is stopped: WebSocket frames have no headers. */
  readMetrics(): Promise<void>;
  /** The handling of the tools, judged by the prompts. */
  tools(prompts: readonly string[]): OfferedTools;
  /** The values of `x-harmony-exact`. WebSocket frames have no headers. */
  exact(): ExactSteps;
  close(): Promise<void>;
}

/** The Messages API names skipped tools by their type. */
const SKIPPED = ["x-harmony-skipped-tools", "x-harmony-skipped"];

const SKIPPED_KINDS = /^harmony_gateway_tools_skipped_total\{.*?kind="(.*?)"/gm;

export async function startTap(): Promise<Tap> {
  let origin = "";
  const offered = new Set<string>();
  const skipped = new Set<string>();
  const counts = { http: 0, webSocket: 0 };
  const claims: string[] = [];
  const note = (text: string) => {
    for (const name of offeredIn(toJson(text))) offered.add(name);
  };

  const server = createServer((incoming, outgoing) => {
    void (async () => {
      const bytes = await incoming.toArray();
      const body = Buffer.concat(bytes);
      if (incoming.method === "POST") counts.http++;
      note(body.toString());
      const answer = await fetch(`${origin}${incoming.url}`, {
        method: incoming.method ?? "GET",
        headers: forwarded(incoming.headers),
        ...(body.length > 0 && { body }),
        redirect: "manual",
      });
      for (const header of SKIPPED) {
        for (const name of answer.headers.get(header)?.split(/, */) ?? []) skipped.add(name);
      }
      claims.push(answer.headers.get("x-harmony-exact") ?? "");
      const headers = Object.fromEntries(answer.headers);
      delete headers["content-encoding"];
      delete headers["content-length"];
      outgoing.writeHead(answer.status, headers);
      if (answer.body === null) outgoing.end();
      else Readable.fromWeb(answer.body).pipe(outgoing);
    })().catch(() => outgoing.destroy());
  });
  const sockets = new WebSocketServer({ server });
  sockets.on("connection", (client, request) => {
    const gateway = new WebSocket(`${origin.replace("http", "ws")}${request.url}`, {
      headers: forwarded(request.headers),
    });
    const early: string[] = [];
    client.on("message", (data) => {
      const text = toText(data);
      counts.webSocket++;
      note(text);
      if (gateway.readyState === WebSocket.OPEN) gateway.send(text);
      else early.push(text);
    });
    gateway.on("open", () => early.forEach((text) => gateway.send(text)));
    gateway.on("message", (data) => client.send(toText(data)));
    gateway.on("error", () => client.terminate());
    gateway.on("close", () => client.close());
    client.on("close", () => gateway.close());
  });
  const port = await listenAnywhere(server);
  return {
    baseURL: `http://127.0.0.1:${port}/v1`,
    forwardTo: (next) => (origin = next),
    counts,
    async readMetrics() {
      const metrics = await (await fetch(`${origin}/metrics`)).text();
      for (const [, kind = ""] of metrics.matchAll(SKIPPED_KINDS)) skipped.add(kind);
    },
    tools(prompts) {
      const missing = [...offered].filter((name) => !prompts.some((each) => isOffered(each, name)));
      return {
        count: offered.size,
        skipped: missing.filter((name) => skipped.has(name)),
        dropped: missing.filter((name) => !skipped.has(name)),
      };
    },
    exact() {
      const steps = claims.filter((claim) => claim !== "");
      const because = steps.flatMap((claim) => /because=(.*)$/.exec(claim)?.[1] ?? []);
      return { steps: steps.length, because };
    },
    close: () =>
      new Promise((resolve) => {
        for (const client of sockets.clients) client.terminate();
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** A tool's name may be prefixed with its namespace. */
function isOffered(prompt: string, name: string): boolean {
  return prompt.includes(`\ntype ${name} = `) || prompt.includes(`__${name} = (`);
}

/** The headers without hop-by-hop headers, and without the headers that `fetch` and `ws` set themselves. */
function forwarded(headers: IncomingHttpHeaders): Record<string, string> {
  const own =
    /^(host|connection|content-length|transfer-encoding|upgrade|accept-encoding|sec-websocket-.*)$/;
  return Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => !own.test(name))
      .map(([name, value]) => [name, [value].flat().join(", ")]),
  );
}

function toText(data: RawData): string {
  if (Array.isArray(data)) return Buffer.concat(data).toString();
  return (data instanceof ArrayBuffer ? Buffer.from(data) : data).toString();
}

function toJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const tool = z.looseObject({
  type: z.string().optional(),
  name: z.string().optional(),
  function: z.looseObject({ name: z.string() }).optional(),
  tools: z.array(z.unknown()).optional(),
  defer_loading: z.boolean().optional(),
});

const toolList = z.looseObject({ tools: z.array(z.unknown()) });

const request = z.looseObject({ input: z.array(z.unknown()).optional() });

/** The tools in a request of any API; in the Responses API, input items can add more. */
function offeredIn(body: unknown): string[] {
  const { data } = request.safeParse(body);
  // Such tools must not be in the prompt until they are found.
  const atOnce = toolsOf(body).filter((each) => tool.safeParse(each).data?.defer_loading !== true);
  return [...atOnce, ...(data?.input ?? []).flatMap(toolsOf)].flatMap(namesOf);
}

function toolsOf(holder: unknown): unknown[] {
  return toolList.safeParse(holder).data?.tools ?? [];
}

/** Hosted tools of OpenAI have no name, only a type. */
function namesOf(value: unknown): string[] {
  const { success, data } = tool.safeParse(value);
  if (!success) return [];
  if (data.tools !== undefined) return data.tools.flatMap(namesOf);
  return [data.function?.name ?? data.name ?? data.type ?? ""];
}
