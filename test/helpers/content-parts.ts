/** For each API, a conversation with content parts in a user's message, and one with them in a tool's result. */
export const CONTENT_PARTS = {
  chat: {
    name: "Chat Completions",
    path: "/v1/chat/completions",
    inMessage: (content: readonly object[]) => ({ messages: [{ role: "user", content }] }),
    inResult: (content: readonly object[]) => ({
      messages: [
        { role: "user", content: "Look." },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "c", content },
      ],
      tools: [{ type: "function", function: { name: "f" } }],
    }),
  },
  responses: {
    name: "Responses",
    path: "/v1/responses",
    inMessage: (content: readonly object[]) => ({ input: [{ role: "user", content }] }),
    inResult: (output: readonly object[]) => ({
      input: [
        { role: "user", content: "Look." },
        { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
        { type: "function_call_output", call_id: "c", output },
      ],
      tools: [{ type: "function", name: "f" }],
    }),
  },
  messages: {
    name: "Messages",
    path: "/v1/messages",
    inMessage: (content: readonly object[]) => ({
      max_tokens: 100,
      messages: [{ role: "user", content }],
    }),
    inResult: (content: readonly object[]) => ({
      max_tokens: 100,
      messages: [
        { role: "user", content: "Look." },
        { role: "assistant", content: [{ type: "tool_use", id: "c", name: "f", input: {} }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "c", content }] },
      ],
      tools: [{ name: "f", input_schema: { type: "object" } }],
    }),
  },
} as const;
