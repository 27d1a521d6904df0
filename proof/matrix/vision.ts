/** A vision model that says the same of every image, and a picture to be described. */
import { createServer } from "node:http";
import { crc32, deflateSync } from "node:zlib";
import { listenAnywhere } from "../../test/helpers/listen.ts";

/** The description of every picture. */
export const SEEN = "A terminal. Its text: three tests failed.";

export interface Vision {
  /** Arguments of a gateway that uses it. */
  readonly args: readonly string[];
  /** Images that it was sent. */
  readonly images: () => number;
  close(): void;
}

export async function startVision(): Promise<Vision> {
  let images = 0;
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      images += 1;
      response.setHeader("content-type", "application/json");
      response.end(
        JSON.stringify({
          choices: [{ message: { role: "assistant", content: SEEN } }],
          usage: { prompt_tokens: 100, completion_tokens: 10 },
        }),
      );
    });
  });
  const url = `http://127.0.0.1:${await listenAnywhere(server)}`;
  return {
    args: ["--vision-url", url, "--vision-model", "sees"],
    images: () => images,
    close: () => void server.close(),
  };
}

/** A grey square as PNG, which clients decode. */
export function greyPng(size = 64): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(size, 0);
  header.writeUInt32BE(size, 4);
  // Eight bits of grey.
  header.set([8, 0, 0, 0, 0], 8);
  const rows = Buffer.alloc(size * (size + 1), 128);
  for (let row = 0; row < size; row++) rows[row * (size + 1)] = 0;
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    toChunk("IHDR", header),
    toChunk("IDAT", deflateSync(rows)),
    toChunk("IEND", Buffer.alloc(0)),
  ]);
}

function toChunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}
