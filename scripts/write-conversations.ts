/**
 * Writes generated conversations, a line each, in the form of Chat Completions, for measuring `harmony-gateway
 * convert`.
 *
 *     node scripts/write-conversations.ts 1000000 > conversations.jsonl
 *
 * Equal numbers give equal lines. Words are drawn at random, so that no text is repeated and caches have no effect.
 */
import { once } from "node:events";

const WORDS =
  `the of and to in that is was for on with as it at by from this have are not but which one you were all
would there their been has when will more who out so said what up about into than them can only other time new some could
these two may then first any my now such like our over even most after also made many before must through years where much
way well down should because each just those people how too little state good very make world still own see work long here
get both between life being under never day same another know while last might us great old year off come since against go
came right used take three system number question answer market company service history language different important
information government development education experience university community international department technology research
temperature measurement configuration performance distribution available following according particular possible example
remember understand consider explain describe compare calculate suggest require provide increase continue although whether
several however therefore probably especially generally usually recently`.split(/\s+/);
const PUNCTUATION = [" ", " ", " ", " ", " ", " ", ", ", ". ", ".\n", ": "];

let state = 1;
/** A linear congruential generator: from 0 up to 1. */
function random(): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 2 ** 32;
}

const pick = <T>(items: readonly T[]): T => {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new RangeError("nothing to pick from");
  return item;
};
function prose(length: number): string {
  let text = "";
  for (let index = 0; index < length; index++) {
    // Squared, so that some words are frequent.
    text += WORDS[Math.floor(random() ** 2 * WORDS.length)] + pick(PUNCTUATION);
  }
  return text;
}

function conversation(index: number): object {
  const question = { role: "user", content: `${index}: ${prose(30)}` };
  const answer = { role: "assistant", reasoning: prose(40), content: prose(50) };
  if (index % 4 !== 0) return { messages: [question, answer] };
  const call = { name: "search", arguments: JSON.stringify({ query: prose(4), limit: index }) };
  return {
    messages: [
      { role: "system", content: "Answer from what you find." },
      question,
      {
        role: "assistant",
        reasoning: prose(15),
        content: null,
        tool_calls: [{ id: `call_${index}`, type: "function", function: call }],
      },
      {
        role: "tool",
        tool_call_id: `call_${index}`,
        content: JSON.stringify({ found: prose(60) }),
      },
      answer,
    ],
    tools: [
      {
        type: "function",
        function: {
          name: "search",
          description: "Finds texts.",
          parameters: {
            type: "object",
            properties: { query: { type: "string" }, limit: { type: "integer" } },
            required: ["query"],
          },
        },
      },
    ],
  };
}

const count = Number(process.argv[2] ?? 1000);
let batch = "";
for (let index = 0; index < count; index++) {
  batch += `${JSON.stringify(conversation(index))}\n`;
  if (batch.length < 1 << 20 && index < count - 1) continue;
  if (!process.stdout.write(batch)) await once(process.stdout, "drain");
  batch = "";
}
