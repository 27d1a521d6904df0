/** A conversation as an OpenChatML document. Loaded with the first export. */
import type { Message as HarmonyMessage } from "../../src/harmony/conversation.ts";
import { parseJson } from "../../src/harmony/json.ts";
import {
  analysisMessage,
  developerMessage,
  finalMessage,
  preambleMessage,
  toolCallMessage,
  toolResultMessage,
  userMessage,
} from "../../src/harmony/messages.ts";
import { fromHarmony } from "../../src/openchatml/from-harmony.ts";
import { writeDocument } from "../../src/openchatml/write-document.ts";
import { type AssistantPart, type Composed, toSteps } from "../../src/snippets/composed.ts";

export interface OpenChatMLExport {
  readonly text: string;
  /** Parts that the format lacks, for a sentence. */
  readonly left: readonly string[];
}

/** @throws Error that names the part that cannot be written */
export function toOpenChatML(composed: Composed): OpenChatMLExport {
  const messages: HarmonyMessage[] = [];
  const callIds: (string | undefined)[] = [];
  const left = new Set<string>();
  const add = (message: HarmonyMessage, callId?: string) => {
    callIds[messages.length] = callId;
    messages.push(message);
  };
  const developer = toDeveloper(composed);
  if (developer !== undefined) add(developer);
  if (composed.hosted?.length) left.add("tools that the gateway runs");
  for (const message of composed.messages) {
    if (message.role === "assistant") {
      for (const step of toSteps(message.parts)) addStep(step, add, left);
    } else {
      if (message.files?.length) left.add("attached files");
      add(userMessage(message.text));
    }
  }
  const { document, lossy } = fromHarmony(messages, { lenient: true, callIds });
  if (lossy.includes("constraint-demoted")) left.add("the mark of JSON at arguments that are none");
  return { text: `${writeDocument(document)}\n`, left: [...left] };
}

function toDeveloper({ system, tools, options: { format } }: Composed): HarmonyMessage | undefined {
  return developerMessage({
    ...(system !== undefined && { instructions: system }),
    functions: tools.map(({ name, description = "", parameters }) => ({
      name,
      description,
      ...(parameters !== undefined && { parameters: parseJson(JSON.stringify(parameters)) }),
    })),
    ...(format?.type === "schema" && {
      responseFormat: { name: format.name, schema: parseJson(JSON.stringify(format.schema)) },
    }),
  });
}

/** Text before calls is a preamble. */
function addStep(
  step: readonly AssistantPart[],
  add: (message: HarmonyMessage, callId?: string) => void,
  left: Set<string>,
): void {
  const calls = step.filter((part) => part.type === "call");
  for (const part of step) {
    if (part.type === "call") add(toolCallMessage(part.name, part.arguments), part.id);
    else if (part.type === "text") {
      add(calls.length > 0 ? preambleMessage(part.text) : finalMessage(part.text));
    } else if (part.text !== "") add(analysisMessage(part.text));
    else if (part.sealed !== undefined) left.add("encrypted reasoning");
  }
  for (const { name, id, result } of calls) {
    if (result !== undefined) add(toolResultMessage(name, result), id);
  }
}
