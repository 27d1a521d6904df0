/** An engine that only reports its capabilities. Tests that need output use the demo engine. */
import type { Engine } from "../../src/index.ts";

export function fakeEngine(probe: Engine["probe"] = async () => PROBE): Engine {
  return {
    name: "fake",
    capabilities: PROBE.capabilities,
    probe,
    // oxlint-disable-next-line require-yield -- it fails before there is anything to yield
    async *complete() {
      throw new Error("this engine completes nothing");
    },
  };
}

const PROBE = {
  description: "fake engine",
  capabilities: {
    idsIn: true,
    idsOut: "exact",
    stopIdVisible: true,
    stopIds: true,
    constraints: [],
    logprobs: false,
    sampling: ["temperature", "topP"],
  },
} as const;
