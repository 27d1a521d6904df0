/** The input of a turn in its record: settings, conversation and prompt. */
import { dropFinishedAnalysis } from "../../harmony/analysis.ts";
import { bodyText, offersFunctions } from "../../harmony/body.ts";
import type { Message } from "../../harmony/conversation.ts";
import { o200kHarmony } from "../../tokenizer/index.ts";
import type { TurnRendered } from "../../turn/facts.ts";
import type { Preset, PresetValues } from "../../turn/preset.ts";
import { DEFAULT_STEERING, type Steering } from "../../turn/steering/settings.ts";
import type { Exchange } from "./exchange.ts";
import type { RecordInput } from "./record-input.ts";
import { headerOf, type RecordedMessage, type TurnRecord } from "./schema.ts";

export function toSettings(
  { turn, layout, steering, contextLength, parsing, capabilities }: TurnRendered,
  exchange: Exchange | undefined,
): TurnRecord["settings"] {
  const own = turn.tools.map(({ name }) => name);
  return {
    layout,
    contextLength: contextLength ?? null,
    capabilities: {
      ...capabilities,
      constraints: [...capabilities.constraints],
      sampling: [...capabilities.sampling],
    },
    reasoningPolicy: exchange?.reasoningPolicy ?? null,
    steering: toSteering(steering),
    toolChoice: {
      type: turn.toolChoice.type,
      ...("names" in turn.toolChoice && { names: [...turn.toolChoice.names] }),
    },
    tools: own,
    ...toShownTools(turn),
    ...toMappedTools(turn),
    textTools: [...parsing.textTools],
    builtins: parsing.systemTools.map(({ name, functions, rawBody }) => ({
      name,
      functions: [...functions],
      rawBody,
    })),
    gatewayTools: parsing.toolNames.filter(
      (name) => !own.includes(name) && !turn.tools.some(({ mapped }) => mapped?.name === name),
    ),
    ...(turn.gatewayTools && {
      toolRuns: { maxCalls: turn.gatewayTools.maxCalls, citations: turn.gatewayTools.citations },
    }),
    answer: turn.answer.type,
    reasoning: { ...turn.reasoning },
    ...(turn.preset && { preset: toPreset(turn.preset) }),
    maxOutputTokens: turn.maxOutputTokens ?? null,
    parallelToolCalls: turn.parallelToolCalls,
    stop: [...turn.stop],
  };
}

function toShownTools({
  tools,
}: TurnRendered["turn"]): Pick<NonNullable<TurnRecord["settings"]>, "shownTools"> {
  const shownTools = tools.flatMap(({ name, shownAs }) =>
    shownAs === undefined ? [] : [{ name, as: shownAs }],
  );
  return shownTools.length > 0 ? { shownTools } : {};
}

function toMappedTools({
  tools,
}: TurnRendered["turn"]): Pick<NonNullable<TurnRecord["settings"]>, "mappedTools"> {
  const mappedTools = tools.flatMap(({ name, mapped }) =>
    mapped === undefined ? [] : [{ name: mapped.name, as: name }],
  );
  return mappedTools.length > 0 ? { mappedTools } : {};
}

function toPreset(preset: Preset): NonNullable<TurnRecord["settings"]>["preset"] {
  const { name, lock, instructions, ...rest } = preset;
  const {
    model: _m,
    description: _d,
    unlisted: _u,
    nameShield: _n,
    trainedTools: _t,
    builtinTools: _b,
    ...values
  } = rest;
  // The compiler reports a field of presets that is not a value here: it needs a separate place in records.
  type Unplaced = Exclude<keyof typeof values, keyof PresetValues>;
  const placed: [Unplaced] extends [never] ? typeof values : never = values;
  return {
    name,
    values: Object.fromEntries(
      Object.entries(placed).flatMap(([field, value]) =>
        value === undefined ? [] : [[field, value]],
      ),
    ),
    lock: [...lock],
    ...(instructions !== undefined && { instructions }),
  };
}

/** Copies the known fields only: the object may hold all settings, including keys. */
function toSteering(steering: Steering): Record<string, number | boolean> {
  const given = new Map<string, number | boolean>(Object.entries(steering));
  return Object.fromEntries(
    Object.entries(DEFAULT_STEERING).map(([name, value]) => [name, given.get(name) ?? value]),
  );
}

export function toConversation(rendered: TurnRendered, input: RecordInput): RecordedMessage[] {
  const { turn, prompt } = rendered;
  const { messages } = turn.prompt;
  const dropped = new Map(
    dropFinishedAnalysis(messages).dropped.map(({ index, finishedBy }) => [index, finishedBy]),
  );
  const lengths = new Map<Message, number>();
  for (const segment of prompt.segments) {
    if (segment.type === "rendered" && segment.message) {
      lengths.set(segment.message, segment.length);
    }
  }
  const hasFunctions = offersFunctions(messages);
  return messages.map((message, index) => {
    const text = bodyText(message, hasFunctions);
    const finishedBy = dropped.get(index);
    return {
      ...headerOf(message),
      ...toWritten(message.sampled),
      text,
      tokens: lengths.get(message) ?? o200kHarmony().encode(text).length,
      source: input.findSource(message, text, turn.tenant, input.exchange),
      ...(finishedBy !== undefined && {
        dropped: { reason: "finished" as const, finishedBy },
      }),
    };
  });
}

export function toPrompt(
  { turn, prompt }: TurnRendered,
  cachedTokens: number | undefined,
): TurnRecord["prompt"] {
  const indices = new Map(turn.prompt.messages.map((message, index) => [message, index]));
  return {
    ids: [...prompt.ids],
    segments: prompt.segments.map((segment) => {
      const message = segment.type === "rendered" ? segment.message : undefined;
      return {
        message: (message && indices.get(message)) ?? null,
        tokens: segment.length,
      };
    }),
    cachedTokens: cachedTokens ?? null,
  };
}

function toWritten(note: Message["sampled"]): Pick<RecordedMessage, "written"> {
  if (note === undefined) return {};
  const { pieces, because } = note;
  if (pieces !== undefined) return { written: { as: "sampled" } };
  return { written: { as: "rendered", ...(because !== undefined && { because }) } };
}
