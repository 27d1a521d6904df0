/** A vLLM that offers `openai/gpt-oss-120b` alone. `curl …/lose` and `curl …/return` break it and mend it. */
import { type FakeUpstream, startFakeUpstream } from "../../test/helpers/fake-upstream.ts";
import { spelledIds } from "../../test/helpers/spelled.ts";
import { readPrompt, toFrame } from "../../test/helpers/vllm-server.ts";

const MODELS = {
  object: "list",
  data: [{ id: "openai/gpt-oss-120b", owned_by: "vllm", max_model_len: 131_072 }],
};

/** @param hasHealth whether it has `/health`. */
export function startScriptedVllm(hasHealth: boolean): Promise<FakeUpstream> {
  let isLost = false;
  return startFakeUpstream((exchange) => {
    const { path } = exchange;
    if (path === "/lose" || path === "/return") {
      isLost = path === "/lose";
      return exchange.reply(200, "");
    }
    if (isLost) return exchange.destroy();
    if (path === "/v1/models") return exchange.reply(200, JSON.stringify(MODELS));
    if (path === "/health" && hasHealth) return exchange.reply(200, "");
    if (path !== "/v1/completions") return exchange.reply(404, '{"detail":"Not Found"}');
    const isProbe = !readPrompt(exchange.body).startsWith("<|start|>system");
    const answer = "<|channel|>final<|message|>Hello! How can I help you?<|return|>";
    exchange.begin();
    exchange.write(toFrame(spelledIds(isProbe ? "<|return|>" : answer), null));
    exchange.end(`${toFrame([], "stop")}data: [DONE]\n\n`);
  });
}
