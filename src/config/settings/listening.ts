/** The settings of the group `listening`: the gateway's address and its shutdown. */
import * as z from "zod";
import { milliseconds, setting, url } from "../setting.ts";

export function listeningSettings() {
  return {
    host: setting("listening", () => z.string().min(1), {
      ofServer: true,
      fixed: true,
      common: true,
      default: "127.0.0.1",
      description:
        "Address to listen on. Any address other than loopback requires `keys` or `open`.",
    }),
    port: setting("listening", () => z.int().min(0).max(65_535), {
      ofServer: true,
      fixed: true,
      common: true,
      default: 8787,
      description: "Port to listen on. 0: any free port.",
    }),
    publicUrl: setting("listening", () => url().refine((text) => !/[?#]/.test(text)), {
      common: true,
      description:
        "Where clients reach the gateway through a proxy: https://llm.example.com, or with the path that the proxy " +
        "removes. The start and the page / print it. Absent: `host` and `port`.",
      expected: "a URL that begins with http:// or https:// and has neither ? nor #",
    }),
    home: setting("listening", () => z.enum(["chat", "links", "off"]), {
      default: "chat",
      description:
        "The page at `/`: one to chat with the model, one of links without scripts, or none. The pages are public; a " +
        "chat needs a key where clients do.",
    }),
    reusePort: setting("listening", z.boolean, {
      ofServer: true,
      fixed: true,
      nodeOnly: true,
      default: false,
      description:
        "Share `port` with other processes that are started the same way: the system distributes connections over them, so " +
        "that every core serves. On Linux. Requires a `store` that they share, or the policy `sealed`.",
    }),
    metricsPort: setting("listening", () => z.int().min(0).max(65_535), {
      ofServer: true,
      fixed: true,
      nodeOnly: true,
      description:
        "A second port, with `/metrics`, `/health` and `/ready` of this process only. For processes that share `port`, " +
        "where a scrape reaches any of them. 0: any free port.",
    }),
    shutdownGraceMs: setting("listening", () => milliseconds(0), {
      fixed: true,
      default: 30_000,
      description:
        "After SIGINT or SIGTERM, how long in-flight requests and background responses may continue. One second before " +
        "the end, the rest is stopped with an error; then connections are closed.",
    }),
  };
}
