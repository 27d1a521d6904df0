/** Conversations and tools of a given size, another one for each seed. */
import { type Corpus, corpusOf, createRandom } from "./corpora.ts";

export interface Message {
  readonly role: "user" | "assistant";
  readonly content: string;
}

/** Approximately, for this mixture. */
const CHARACTERS_PER_TOKEN = 3.4;
const MIXTURE: readonly Corpus[] = [corpusOf("prose"), corpusOf("code"), corpusOf("json")];

/** A conversation whose last message is the user's. */
export function createConversation(tokens: number, seed: number): Message[] {
  const random = createRandom(seed);
  const messages: Message[] = [];
  for (let left = tokens * CHARACTERS_PER_TOKEN; left > 0;) {
    const corpus = MIXTURE[random(MIXTURE.length)];
    const whole = corpus?.create(300 + random(3400), random(1_000_000_000)) ?? "";
    const content = whole.slice(0, left);
    messages.push({ role: messages.length % 2 === 0 ? "user" : "assistant", content });
    left -= content.length;
  }
  if (messages.length % 2 === 0) messages.push({ role: "user", content: "Go on." });
  return messages;
}

export function createTools(count: number, seed: number): object[] {
  return Array.from({ length: count }, (_, index) => ({
    type: "function",
    function: {
      name: `tool_${seed}_${index}`,
      description: prose(120, seed * 1000 + index),
      parameters: {
        type: "object",
        properties: {
          query: { type: "string", description: prose(60, seed * 2000 + index) },
          limit: { type: "integer", minimum: 1, maximum: 100 + index },
          kind: { type: "string", enum: ["any", "new", `kind_${seed}_${index}`] },
          filter: {
            type: "object",
            properties: { from: { type: "string" }, to: { type: ["string", "null"] } },
          },
        },
        required: ["query"],
      },
    },
  }));
}

export function prose(characters: number, seed: number): string {
  return corpusOf("prose").create(characters, seed);
}
