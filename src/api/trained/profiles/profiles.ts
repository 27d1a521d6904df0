import type { Profile } from "../profile.ts";
import { claudeCode } from "./claude-code.ts";
import { codex } from "./codex.ts";
import { opencode } from "./opencode.ts";

/** A new agent is a file and a line here, and its examples in `test/api/trained/examples.ts`. */
export const PROFILES: readonly Profile[] = [codex, claudeCode, opencode];
