/**
 * Converts calls that the gateway has run to Groq's format, and citations to OpenAI's in Chat Completions. These calls
 * are never in `tool_calls`, because a client would try to run them.
 */
import { type TrainedTool, trainedToolOf } from "../../harmony/trained-tools.ts";
import type { BuiltinCallPart, BuiltinCallResult } from "../../turn/turn.ts";
import type { Citation } from "../../turn/output/citations.ts";

/** @param index the call's index in the message. `args`: the part's text. */
export function toExecutedTool(
  part: BuiltinCallPart,
  args: string,
  { shown, messages }: BuiltinCallResult,
  index: number,
) {
  const output = messages.at(-1)?.content;
  return {
    index,
    ...toCall(part, args),
    output: typeof output === "string" ? output : "",
    ...(shown.type === "search" && {
      search_results: {
        results: shown.results.map(({ title, url, snippet }, rank) => ({
          title,
          url,
          content: snippet,
          // Search services return a ranking without scores.
          score: 1 / (rank + 1),
        })),
      },
    }),
    ...(shown.type === "code" && {
      code_results: shown.outputs.map((each) =>
        each.type === "logs" ? { text: each.logs } : { png: each.url },
      ),
    }),
  };
}

/** `offset`: position of the part's text in the message's. */
export function toAnnotation({ start, end, url, title }: Citation, offset: number) {
  return {
    type: "url_citation" as const,
    url_citation: { start_index: start + offset, end_index: end + offset, title, url },
  };
}

function toCall({ name, origin }: BuiltinCallPart, args: string) {
  if (origin === undefined) return CALLS[trainedToolOf(name) ?? "python"](name, args);
  return { type: "mcp", name: origin.tool, server_label: origin.server, arguments: args };
}

type ToCall = (name: string, args: string) => { readonly type: string; readonly arguments: string };

const CALLS: Readonly<Record<TrainedTool, ToCall>> = {
  browser: (name, args) => ({ type: name.replace(".", "_"), arguments: args }),
  python: (_name, code) => ({
    type: "code_interpreter",
    arguments: JSON.stringify({ code }),
  }),
};
