import { describe, expect, test } from "vitest";
import { type SystemContent, systemText } from "../../src/harmony/index.ts";

const channels = ["analysis", "commentary", "final"];
const functions = [{ name: "open", description: "" }];

describe("the system message", () => {
  test("with everything", () => {
    const content: SystemContent = {
      type: "system",
      identity: "You are ChatGPT.",
      knowledgeCutoff: "2024-06",
      date: "2026-11-21",
      effort: "high",
      channels,
      channelsRequired: true,
      namespaces: [{ key: "browser", name: "browser", description: "Opens pages.", functions }],
    };
    expect(systemText(content, true)).toBe(`You are ChatGPT.
Knowledge cutoff: 2024-06
Current date: 2026-11-21

Reasoning: high

# Tools

## browser

// Opens pages.
namespace browser {

type open = () => any;

} // namespace browser

# Valid channels: analysis, commentary, final. Channel must be included for every message.
Calls to these tools must go to the commentary channel: 'functions'.`);
  });

  test.each<[string, Partial<SystemContent>, boolean, string]>([
    ["nothing set", {}, false, ""],
    ["functions but no channels", {}, true, ""],
    ["an empty identity is a line", { identity: "", date: "d" }, false, "\nCurrent date: d"],
    ["an empty identity alone", { identity: "", effort: "low" }, false, "\n\nReasoning: low"],
    ["no identity", { knowledgeCutoff: "", date: "" }, false, "Knowledge cutoff: \nCurrent date: "],
    ["only effort", { effort: "medium" }, false, "Reasoning: medium"],
    ["no channels in the list", { channels: [], channelsRequired: true }, true, ""],
    ["no tools in the list", { effort: "low", namespaces: [] }, false, "Reasoning: low"],
    [
      "channels not required",
      { channels },
      false,
      "# Valid channels: analysis, commentary, final.",
    ],
    [
      "channels not required, functions",
      { channels: ["final"] },
      true,
      "# Valid channels: final.\nCalls to these tools must go to the commentary channel: 'functions'.",
    ],
    [
      "its own functions do not count",
      { channels: ["final"], namespaces: [{ key: "functions", name: "n", functions: [] }] },
      false,
      "# Tools\n\n## n\n\n\n# Valid channels: final.",
    ],
  ])("%s", (_, content, hasFunctions, text) => {
    expect(systemText({ type: "system", ...content }, hasFunctions)).toBe(text);
  });
});
