/** A completion with four mistakes, parsed as it arrives. Run: `node examples/parse.ts` */

import { createParser, toFinishReason } from "../src/harmony/index.ts";
import { o200kHarmony } from "../src/tokenizer/index.ts";

// The start token is missing before `assistant`, a second channel is glued to the recipient, the arguments have a
// bracket too many, and the model continues after its call, inventing the result.
const completion = [
  "<|channel|>analysis<|mess",
  "age|>They ask about Rome. Call the to",
  "ol.<|end|>assistant<|channel|>commentary to=functions.get_weather<|channel|>comm",
  'entary json<|message|>{"city":"R',
  'ome"}',
  "}<|call|>comment",
  "ary<|channel|>final<|message|>It is sunny.",
];

const parser = createParser(o200kHarmony(), { toolNames: ["get_weather"] });
let hasToolCall = false;
for (const text of completion) {
  if (parser.done) break;
  for (const event of parser.pushText(text)) {
    console.log(JSON.stringify(event));
    hasToolCall ||= event.type === "part-start" && event.part === "tool-call";
  }
}
for (const event of parser.end("stop")) console.log(JSON.stringify(event));

console.log("finish:", toFinishReason("stop", hasToolCall));
console.log("repairs:", [...parser.recoveries.keys()].join(", "));
