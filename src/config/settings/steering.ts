/** The settings of the group `steering`: when the gateway cuts, continues or constrains the output of the model. */
import * as z from "zod";
import { DEFAULT_STEERING } from "../../turn/steering/settings.ts";
import { count, setting } from "../setting.ts";

export function steeringSettings() {
  return {
    answerReserve: setting("steering", () => z.int().min(0), {
      default: DEFAULT_STEERING.answerReserve,
      description:
        "Tokens of a request's output limit that are reserved for the answer: reasoning is cut before it uses " +
        "them. 0: none.",
    }),
    repetitionGuard: setting("steering", z.boolean, {
      default: DEFAULT_STEERING.repetitionGuard,
      description: "Cut reasoning that repeats itself, and continue with the answer.",
    }),
    openMissingAnswer: setting("steering", z.boolean, {
      default: DEFAULT_STEERING.openMissingAnswer,
      description:
        "When the model stops after its reasoning, or leaves its answer empty, have it continue with the answer.",
    }),
    continueAnnouncedCalls: setting("steering", z.boolean, {
      default: DEFAULT_STEERING.continueAnnouncedCalls,
      description:
        "When the model stops after a message to the user that is not its answer (a preamble), and tools are offered, let it " +
        "begin another message before the answer is opened: it may have meant to call a tool. Costs one engine request.",
    }),
    sampleMoreCalls: setting("steering", z.boolean, {
      default: DEFAULT_STEERING.sampleMoreCalls,
      description:
        "After a tool call, let the model continue, in case it makes another call. Costs one engine request per " +
        "call.",
    }),
    refuseUnofferedTools: setting("steering", z.boolean, {
      default: DEFAULT_STEERING.refuseUnofferedTools,
      description:
        "When the model calls a tool that was not offered, answer with an error that only the model sees, once, instead of passing the call on.",
    }),
    singleCallConstraint: setting("steering", z.boolean, {
      default: DEFAULT_STEERING.singleCallConstraint,
      description:
        "Enforce all constraints of a turn in one engine call, where the engine can (structural tags of vLLM and " +
        "SGLang, token grammars of llama.cpp). Needs a recent server.",
    }),
    allowHiddenMarkers: setting("steering", z.boolean, {
      default: DEFAULT_STEERING.allowHiddenMarkers,
      description:
        "Accept answers from a text engine that hides the control tokens, and tell reasoning from answer by the " +
        "remaining words. Off: refused with status 502.",
    }),
    defaultMaxOutputTokens: setting("steering", count, {
      default: DEFAULT_STEERING.defaultMaxOutputTokens,
      description: "Output limit when neither the request nor the context length sets one.",
    }),
  };
}
