/**
 * Rules that are known to be broken on a wire, so that the bounded search in the tests tells of new ones. A fix takes
 * its rule out; the list is to be empty.
 */
import type { Wire } from "./case.ts";

const EVERYWHERE = [
  "same-native-reason",
  "stream-equals-plain",
  "within-limits",
  "whole-content",
  "logprob-bytes",
  "thoughts-come-back",
];

const TEXT = ["usage-adds-up", "constraint-used"];

export const KNOWN: Readonly<Record<Wire, ReadonlySet<string>>> = {
  ids: new Set(EVERYWHERE),
  pieces: new Set([...EVERYWHERE, "usage-adds-up"]),
  markers: new Set([...EVERYWHERE, ...TEXT]),
  text: new Set([...EVERYWHERE, ...TEXT, "thought-not-in-content"]),
};
