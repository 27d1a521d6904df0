/** S9: an engine sends one response too many on a kept-alive connection, so that each later response belongs to another request. */
import { createServer, type Server, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { z } from "zod";
import { startTestGateway } from "../helpers/gateway.ts";
import { listenAnywhere } from "../helpers/listen.ts";
import { spelledIds } from "../helpers/spelled.ts";
import { toServerInfo } from "../helpers/vllm-server.ts";
import { o200kHarmony } from "../../src/tokenizer/index.ts";
import { chatReply } from "../helpers/replies.ts";

let server: Server | undefined;
const sockets = new Set<Socket>();

afterEach(() => {
  for (const socket of sockets) socket.destroy();
  server?.close();
});

const completion = z.object({ prompt: z.array(z.int()) });

/** Repeats the requested word, and the ids of its prompt, as vLLM does. */
function answer(body: string): string {
  const { prompt } = completion.parse(JSON.parse(body));
  const text = o200kHarmony().decode(prompt);
  const word = /Say (\w+)/.exec(text)?.[1];
  const ids = spelledIds(
    word === undefined ? "<|return|>" : `<|channel|>final<|message|>${word}<|return|>`,
  );
  const choice = {
    index: 0,
    text: "",
    finish_reason: "stop",
    prompt_token_ids: prompt,
    token_ids: ids,
  };
  return `data: ${JSON.stringify({ choices: [choice] })}\n\ndata: [DONE]\n\n`;
}

function toResponse(type: string, body: string): string {
  return `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

/** An engine that answers the second completion of a connection with a copy of the first response, and each later one with the previous response. */
async function startShiftingEngine(): Promise<string> {
  server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => {});
    let received = "";
    let owed: string | undefined;
    socket.on("data", (data) => {
      received += data.toString("latin1");
      const head = received.indexOf("\r\n\r\n");
      const length = Number(/content-length: (\d+)/i.exec(received)?.[1] ?? 0);
      if (head === -1 || received.length < head + 4 + length) return;
      const path = /^\w+ (\S+)/.exec(received)?.[1];
      const body = received.slice(head + 4);
      received = "";
      if (path !== "/v1/completions") {
        socket.write(toResponse("application/json", toServerInfo(path)));
        return;
      }
      const own = toResponse("text/event-stream", answer(body));
      socket.write(owed ?? own);
      owed = own;
    });
  });
  return `http://127.0.0.1:${await listenAnywhere(server)}`;
}

test("no answer goes to another request", async () => {
  const gateway = await startTestGateway({
    settings: { engine: "vllm", url: await startShiftingEngine(), log: "silent" },
  });
  const outcomes: string[] = [];
  for (let n = 0; n < 10; n++) {
    const response = await fetch(`${gateway.baseURL}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ messages: [{ role: "user", content: `Say word${n}` }] }),
    });
    const document: unknown = await response.json();
    outcomes.push(
      response.status === 200
        ? chatReply.parse(document).choices[0].message.content === `word${n}`
          ? "its own"
          : "another's"
        : `status ${response.status}`,
    );
  }
  expect(new Set(outcomes)).toEqual(new Set(["its own", "status 502"]));
  await gateway.close();
});
