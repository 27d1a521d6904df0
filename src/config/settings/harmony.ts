/** The settings of the group `harmony`: the content of the system message, and the form of headers. */
import * as z from "zod";
import { setting } from "../setting.ts";

export function harmonySettings() {
  return {
    identity: setting("harmony", () => z.string(), {
      default: "You are ChatGPT, a large language model trained by OpenAI.",
      description: "First line of the system message. gpt-oss was trained with the default.",
    }),
    knowledgeCutoff: setting("harmony", () => z.string(), {
      default: "2024-06",
      description: "The model's knowledge cutoff, as given in the system message.",
    }),
    date: setting("harmony", () => z.union([z.enum(["today", "none"]), z.iso.date()]), {
      default: "today",
      description:
        "The current date in the system message: the day in UTC, a fixed day, or no date.",
      expected: "today, none or a day such as 2026-01-31",
    }),
    layout: setting("harmony", () => z.enum(["guide", "reference", "channel-first"]), {
      default: "guide",
      description:
        "Position of the channel in the header of a tool call and its result: as in OpenAI's guide and as the model nearly always " +
        "writes it (`guide`), as openai/harmony writes it (`reference`), or first in both.",
    }),
    nameShield: setting("harmony", () => z.enum(["off", "on"]), {
      perKey: true,
      default: "off",
      description:
        "Show the model functions that are called like tools of its training (`python`, `browser`, `bash`, `shell`, `container`, " +
        "`repo_browser`, `apply_patch`, `exec`) under other names, such as `run_python`. Clients keep their own names everywhere. A " +
        "preset can differ. See docs/agents.md.",
    }),
  };
}
