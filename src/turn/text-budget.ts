/** The memory shared by all text caches of this process: encoded prompts and parsed tools. */
import { MemoryBudget } from "../harmony/text-memory.ts";

/** 100,000 tokens of English take about 2 MB. */
const MAX_BYTES = 32 * 1024 * 1024;

export const TEXT_BUDGET = new MemoryBudget(MAX_BYTES);
