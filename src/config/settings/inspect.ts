/** The settings of the group `inspect`: access to turns, and the limits of records. */
import * as z from "zod";
import { bytes, count, setting } from "../setting.ts";

export function inspectSettings() {
  return {
    inspect: setting("inspect", z.boolean, {
      fixed: true,
      common: true,
      nodeOnly: true,
      description:
        "Record turns in memory and show them at /inspect, behind a token that is printed at the start. Default: on " +
        "at a terminal, and for the demo engine, on loopback without keys; otherwise off.",
    }),
    inspectKey: setting("inspect", () => z.string().min(16), {
      fixed: true,
      nodeOnly: true,
      expected: "at least 16 characters",
      description:
        "The token of /inspect instead of a random one, at least 16 characters. Required behind a reverse proxy: without " +
        "it, requests with forwarding headers are refused.",
      secret: true,
    }),
    inspectMaxBytes: setting("inspect", bytes, {
      fixed: true,
      nodeOnly: true,
      default: 134_217_728,
      description:
        "Maximum bytes of recorded turns in memory, as an estimate; the oldest are dropped first, and beyond 1,000 turns too. " +
        "One turn may use a quarter; the rest of it is left out.",
    }),
    inspectMaxAgeSeconds: setting("inspect", count, {
      fixed: true,
      nodeOnly: true,
      default: 86_400,
      description:
        "Seconds after which a recorded turn is dropped from memory, unless it is pinned. Files of `capture` stay.",
    }),
    recordContent: setting("inspect", z.boolean, {
      fixed: true,
      nodeOnly: true,
      default: true,
      description:
        "Keep texts and token ids in recorded turns. Off: only structure, sizes, names and times, in memory and in files.",
    }),
    capture: setting("inspect", () => z.string().min(1), {
      fixed: true,
      common: true,
      nodeOnly: true,
      description:
        "Folder into which every turn is written as a JSON file, with prompts and answers, for harmony-gateway replay.",
    }),
    captureMaxBytes: setting("inspect", bytes, {
      fixed: true,
      nodeOnly: true,
      default: 1_073_741_824,
      description: "Maximum bytes of the files in that folder. The oldest are deleted first.",
    }),
  };
}
