/**
 * The models in the format of Codex's catalogue (0.169.0): the capabilities of each, and its instructions. Codex
 * refuses a catalogue in which a single field is wrong.
 */
import { GPT_OSS_CONTEXT } from "../engines/models-probe.ts";
import type { NamedEffort } from "../models/model-name.ts";

export interface CatalogueModel {
  readonly id: string;
  /** Length in tokens. Undefined: not known. */
  readonly contextLength: number | undefined;
  /** Absent: `medium`. */
  readonly effort?: NamedEffort | undefined;
  readonly description?: string | undefined;
  /** Whether images are described for the model. Default: false. */
  readonly seesImages?: boolean;
}

export function toCodexModels(models: readonly CatalogueModel[]): readonly object[] {
  return models.map((model, index) => toCodexModel(model, index + 1));
}

function toCodexModel(
  { id, contextLength = GPT_OSS_CONTEXT, effort, description, seesImages }: CatalogueModel,
  priority: number,
): object {
  return {
    slug: id,
    display_name: id.replace(/^.*\//, ""),
    description: description || "gpt-oss behind harmony-gateway",
    default_reasoning_level: effort ?? "medium",
    supported_reasoning_levels: [
      ...(effort === "none" ? [{ effort, description: "No reasoning" }] : []),
      { effort: "low", description: "Fast answers" },
      { effort: "medium", description: "Balanced" },
      { effort: "high", description: "Thorough" },
    ],
    shell_type: "unified_exec",
    visibility: "list",
    supported_in_api: true,
    priority,
    upgrade: null,
    base_instructions: BASE_INSTRUCTIONS,
    default_reasoning_summary: "none",
    support_verbosity: false,
    apply_patch_tool_type: "freeform",
    web_search_tool_type: "text",
    truncation_policy: { mode: "tokens", limit: 10_000 },
    context_window: contextLength,
    max_context_window: contextLength,
    effective_context_window_percent: 90,
    experimental_supported_tools: [],
    input_modalities: seesImages ? ["text", "image"] : ["text"],
    supports_search_tool: false,
    use_responses_lite: false,
    tool_mode: "direct",
  };
}

const BASE_INSTRUCTIONS = `You are a coding agent. You work in the user's terminal, inside a project on their machine, until the task is done.

# How to work
- Look before you change: list files, search and read the parts that matter. Do not guess what a file contains.
- Use exec_command to run commands. Prefer rg for searching. Quote paths. Keep commands short and their output small.
- A command may run for long or wait for input. Then use write_stdin with its session to read on, or to answer it.
- Make the smallest change that solves the task. Keep the style of the code around it. Do not reformat what you do not change.
- Do not touch files that have nothing to do with the task, and never discard changes that you did not make.
- Commit, push or delete only if the user asks for it.

# Editing files
Edit with apply_patch. Its input is one patch as plain text, not JSON:

*** Begin Patch
*** Update File: src/greet.py
@@ def greet(name):
-    return "Hi"
+    return f"Hi {name}"
*** End Patch

- Paths are relative to the project. "*** Add File: PATH" creates a file, each of its lines begins with "+".
  "*** Delete File: PATH" removes one. "*** Move to: PATH" below an update renames it.
- Unchanged lines begin with a space. Give about three around each change, exactly as they stand in the file.
- If a patch is rejected, read the file again and send a corrected one.

# Checking
- When the project has tests, a type checker or a linter, run those that concern your change, and fix what you broke.
- Say so if something could not be checked.

# Talking to the user
- Before a longer step, say in one sentence what you are about to do.
- End with a short answer: what you changed and where, what you checked, and what is left. Name files by their path.
- Ask only if you cannot go on without an answer. Otherwise decide, and say what you decided.
- Be brief and factual. Do not repeat file contents or command output that the user can see.`;
