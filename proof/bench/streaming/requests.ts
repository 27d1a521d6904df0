/** The requests in each wire format. The scripted engine answers all of them the same way. */

export const MODEL = "openai/gpt-oss-20b";

/** A contender's wire format: `engine` ones pass the engine's own format through. */
export type Wire = "engine" | "chat" | "responses" | "messages";

export interface ClientRequest {
  readonly path: string;
  readonly body: string;
}

const QUESTION = "What is the weather in Paris, and should I take a coat?";

const NOTE_SCHEMA = {
  type: "object",
  properties: { text: { type: "string", description: "What to remember." } },
  required: ["text"],
};
const NOTE = { name: "note", description: "Notes something down.", parameters: NOTE_SCHEMA };

/** A short conversation with a tool on offer; `history` goes before its question. */
export function createRequest(wire: Wire, history: readonly ChatMessage[] = []): ClientRequest {
  const messages = [...history, { role: "user", content: QUESTION }];
  switch (wire) {
    case "chat":
      return {
        path: "/v1/chat/completions",
        body: JSON.stringify({
          model: MODEL,
          stream: true,
          messages,
          tools: [{ type: "function", function: NOTE }],
        }),
      };
    case "responses":
      return {
        path: "/v1/responses",
        body: JSON.stringify({
          model: MODEL,
          stream: true,
          store: false,
          input: messages,
          tools: [{ type: "function", ...NOTE }],
        }),
      };
    case "messages":
      return {
        path: "/v1/messages",
        body: JSON.stringify({
          model: MODEL,
          stream: true,
          max_tokens: 100_000,
          thinking: { type: "enabled", budget_tokens: 50_000 },
          messages,
          tools: [{ name: NOTE.name, description: NOTE.description, input_schema: NOTE_SCHEMA }],
        }),
      };
    case "engine":
      return {
        path: "/v1/completions",
        body: JSON.stringify({
          model: MODEL,
          stream: true,
          prompt: messages.map(({ content }) => content).join("\n"),
        }),
      };
    default:
      return wire satisfies never;
  }
}

export interface ChatMessage {
  readonly role: "user" | "assistant";
  readonly content: string;
}

/** About `characters` of conversation, the same every time for the same `seed`. */
export function createHistory(characters: number, seed: number): ChatMessage[] {
  const history: ChatMessage[] = [];
  let size = 0;
  for (let turn = 0; size < characters; turn++) {
    const sentence = `Turn ${turn} of conversation ${seed}: the tide comes in at ${turn * 13} past ${turn}. `;
    const content = sentence.repeat(1 + ((turn * 7 + seed) % 40));
    history.push({ role: turn % 2 === 0 ? "user" : "assistant", content });
    size += content.length;
  }
  return history;
}
