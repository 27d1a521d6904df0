/** The settings of the group `media`: images and files, which gpt-oss cannot read. */
import * as z from "zod";
import { count, milliseconds, setting, url } from "../setting.ts";

export function mediaSettings() {
  return {
    visionUrl: setting("media", url, {
      common: true,
      description:
        "Address of a Chat Completions server with a vision model, for instance http://127.0.0.1:8081. It describes " +
        "each image in requests and tool results once, and gpt-oss reads the description. Needs `visionModel`. See docs/tools.md.",
    }),
    visionModel: setting("media", () => z.string().min(1), {
      common: true,
      description: "The model at `visionUrl`.",
    }),
    visionKey: setting("media", () => z.string().min(1), {
      common: true,
      description: "API key the gateway sends to `visionUrl`.",
      secret: true,
    }),
    visionTimeoutMs: setting("media", milliseconds, {
      default: 30_000,
      description:
        "How long a request waits for descriptions of its images. After it the model reads that they could not be read.",
    }),
    maxImages: setting("media", count, {
      default: 20,
      description:
        "Maximum images of a request that are described for the first time; of more, the newest ones. Descriptions that are kept " +
        "do not count.",
    }),
    mediaHosts: setting("media", () => z.array(z.string().min(1)), {
      default: [],
      description:
        "Hosts from which images behind addresses are fetched, with their subdomains; `any` is every public host. Empty: none, so " +
        "that requests have to contain their images.",
    }),
    mediaInput: setting("media", () => z.enum(["refuse", "placeholder"]), {
      common: true,
      description:
        "Images without `visionUrl`, and other content that cannot be read: answer 400, or replace each by a note that the model " +
        "cannot see it. Absent: placeholder in tool results and in the Messages API, whose clients would repeat the image, and so " +
        "the error, in every later request; refuse in messages of Chat Completions and the Responses API.",
    }),
  };
}
