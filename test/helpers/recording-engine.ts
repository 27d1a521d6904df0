/** Wraps an engine and records its prompts. */
import type { Engine } from "../../src/index.ts";
import { o200kHarmony } from "../../src/tokenizer/index.ts";

export interface RecordingEngine extends Engine {
  /** The prompts as text, oldest first. */
  readonly prompts: string[];
}

export function recordingEngine(engine: Engine): RecordingEngine {
  const prompts: string[] = [];
  return {
    name: engine.name,
    get capabilities() {
      return engine.capabilities;
    },
    prompts,
    probe: (signal) => engine.probe(signal),
    complete(request, signal) {
      prompts.push(o200kHarmony().decode(request.prompt.ids));
      return engine.complete(request, signal);
    },
  };
}
