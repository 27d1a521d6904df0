/** The settings of the group `limits`: sizes of requests, queues, and timeouts. */
import * as z from "zod";
import { bytes, count, milliseconds, setting } from "../setting.ts";

/** The function is long because it is data: one entry for each setting, in the order of `docs/settings.md`. */
export function limitSettings() {
  return {
    maxBodyBytes: setting("limits", bytes, {
      common: true,
      default: 33_554_432,
      description:
        "Maximum bytes of a request body, and of all bodies and WebSocket messages of a key that are being received at a " +
        "time; of all keys four times as many. Bodies that find no room wait ten seconds, then get 429, or 503 if other keys take it. " +
        "The replies that are held for a key may take four times as many.",
    }),
    maxMessages: setting("limits", count, {
      default: 10_000,
      description:
        "Maximum messages or input items in a request. They may have twice as many content parts, tool calls and other list " +
        "entries together.",
    }),
    maxTools: setting("limits", count, {
      default: 512,
      description: "Maximum tools in a request, including those in namespaces.",
    }),
    maxQueued: setting("limits", () => z.int().min(0), {
      common: true,
      default: 256,
      description:
        "Maximum requests that wait for an inference server of a model, where its servers have " +
        "`maxConcurrent`. Further ones are answered 503 with Retry-After.",
    }),
    maxQueuedPerKey: setting("limits", () => z.int().min(0), {
      perKey: true,
      description:
        "Maximum waiting requests of one key. Further ones are answered 429 with Retry-After. Absent: `maxQueued`, which " +
        "keys then share.",
    }),
    maxConcurrentPerKey: setting("limits", count, {
      perKey: true,
      common: true,
      description:
        "Maximum concurrent requests of one key to a model, each of `n` choices counted; further ones wait. Absent: as many " +
        "as there is room for, and an equal share while other keys wait.",
    }),
    maxBackgroundPerKey: setting("limits", count, {
      perKey: true,
      default: 32,
      description:
        "Maximum concurrent background responses of one key, including queued ones. Further ones are answered 429 with " +
        "Retry-After.",
    }),
    maxBackground: setting("limits", count, {
      default: 256,
      description:
        "Maximum concurrent background responses of all keys together. Further ones are answered 503.",
    }),
    maxSocketsPerKey: setting("limits", count, {
      perKey: true,
      default: 128,
      description: "Maximum open WebSockets of one key. Further ones are refused with 429.",
    }),
    queueTimeoutMs: setting("limits", milliseconds, {
      default: 60_000,
      description: "Maximum wait of a request for an inference server with room. After it: 503.",
    }),
    connectTimeoutMs: setting("limits", milliseconds, {
      default: 10_000,
      description: "Maximum wait for a connection to the inference server.",
    }),
    firstTokenTimeoutMs: setting("limits", milliseconds, {
      common: true,
      default: 600_000,
      description:
        "Maximum wait for the first token, including queueing and prompt processing at the server. It begins again with each " +
        "progress that the server reports: llama-server does.",
    }),
    idleTimeoutMs: setting("limits", milliseconds, {
      default: 300_000,
      description: "Maximum wait between two tokens.",
    }),
    textCacheBytes: setting("limits", () => z.int().min(0), {
      description:
        "Maximum bytes of cached texts, as an estimate: encoded messages and parsed tools, which a client sends again with every " +
        "turn, and, in a quarter of it, the messages of earlier request bodies, which are not parsed again. 100,000 tokens of " +
        "English take about 1.6 MB, and 1.4 MB of the quarter. 0: none. Absent: 67108864 on Node, 16777216 elsewhere.",
    }),
    keepAliveMs: setting("limits", milliseconds, {
      default: 15_000,
      description: "Longest silence of a stream before the client is sent a keep-alive.",
    }),
    clientIdleTimeoutMs: setting("limits", milliseconds, {
      fixed: true,
      default: 60_000,
      description:
        "How long a client may leave sent data unread before it is disconnected and its turn stopped.",
    }),
  };
}
