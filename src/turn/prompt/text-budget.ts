/** The memory shared by all text caches of this process: encoded prompts and parsed tools. */
import { MemoryBudget } from "../../harmony/text-memory.ts";

/** Default for a Worker, which has 128 MB. 100,000 tokens of English take about 1.6 MB. */
export const DEFAULT_TEXT_CACHE_BYTES = 16 * 1024 * 1024;

/** The application that was created last sets its size. */
export const TEXT_BUDGET = new MemoryBudget(DEFAULT_TEXT_CACHE_BYTES);

/** Budget for the beginnings of request bodies. */
export const BODY_BUDGET = new MemoryBudget(DEFAULT_TEXT_CACHE_BYTES / 4);
