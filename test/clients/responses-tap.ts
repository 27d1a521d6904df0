/** A proxy between a client and the gateway that records the traffic, so that a test can check it. */
import { createServer } from "node:http";
import { listenAnywhere } from "../helpers/listen.ts";

export interface Tap {
  readonly baseURL: string;
  /** The gateway's responses to `POST /responses`, in order. */
  readonly answers: readonly Response[];
  /** The requests' bodies, in order. */
  readonly requests: readonly Record<string, unknown>[];
  close(): Promise<void>;
}

export async function startTap(gatewayOrigin: string): Promise<Tap> {
  const answers: Response[] = [];
  const requests: Record<string, unknown>[] = [];
  const server = createServer((incoming, outgoing) => {
    void (async () => {
      const bytes: Buffer[] = [];
      for await (const chunk of incoming) bytes.push(Buffer.from(chunk));
      const body = Buffer.concat(bytes).toString();
      const answer = await fetch(`${gatewayOrigin}${incoming.url}`, {
        method: incoming.method ?? "GET",
        headers: { "content-type": "application/json" },
        ...(body !== "" && { body }),
      });
      if (incoming.method === "POST") {
        requests.push(JSON.parse(body));
        answers.push(answer.clone());
      }
      outgoing.writeHead(answer.status, {
        "content-type": answer.headers.get("content-type") ?? "",
      });
      for await (const chunk of answer.body ?? []) outgoing.write(chunk);
      outgoing.end();
    })();
  });
  const port = await listenAnywhere(server);
  return {
    baseURL: `http://127.0.0.1:${port}/v1`,
    answers,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
