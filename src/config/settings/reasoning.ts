/** The settings of the group `reasoning`: how clients receive the reasoning of the model. */
import * as z from "zod";
import { lazy } from "../../lazy.ts";
import { milliseconds, setting } from "../setting.ts";

export function reasoningSettings() {
  return {
    reasoningPolicy: setting("reasoning", () => z.enum(["raw", "sealed", "summary", "none"]), {
      perKey: true,
      common: true,
      default: "raw",
      description:
        "How clients receive the model's reasoning: as text, encrypted only to be sent back, " +
        "as a summary only (needs `reasoningSummaries`; not in the Messages API), or not at all.",
    }),
    reasoningSummaries: setting("reasoning", z.boolean, {
      common: true,
      default: false,
      description:
        "Make summaries of the reasoning for requests that ask for them (`reasoning.summary`; not in the Messages API), and for " +
        "keys with the policy `summary`. Each costs a small completion of the model, and clients such as Codex ask by default.",
    }),
    reasoningSummaryWaitMs: setting("reasoning", milliseconds, {
      default: 5_000,
      description:
        "Maximum wait for a summary. Output that follows the reasoning is held back meanwhile. After the wait, there is no summary.",
    }),
    reasoningContentMirror: setting("reasoning", z.boolean, {
      perKey: true,
      default: true,
      description:
        "Repeat `reasoning` as `reasoning_content`, for clients that read only that, such as those made for DeepSeek, and below `/v1` " +
        "in `reasoning_details`, too. Below `/api/v1`, where OpenRouter's clients are, `reasoning_details` has it in any case.",
    }),
    sealingKeys: setting("reasoning", () => z.array(sealingKey()), {
      common: true,
      default: [],
      description:
        "Keys for sealed reasoning, newest first: the first one encrypts, all decrypt. Replicas must share them.",
      secret: true,
    }),
    reasoningEvents: setting("reasoning", () => z.enum(["reasoning_text", "reasoning"]), {
      perKey: true,
      default: "reasoning_text",
      description:
        "Names of the reasoning events of the Responses API: `response.reasoning_text.…`, which OpenAI's and most other " +
        "clients read, or `response.reasoning.…`, as in the Open Responses schema. /open-responses/v1 and models " +
        "named with `:open-responses` always use the latter.",
    }),
  };
}

const sealingKey = lazy(() =>
  z
    .string()
    .regex(
      /^[\w-]{43}=?$/,
      "expected 32 random bytes in base64url, as `harmony-gateway key --sealing` prints",
    ),
);
