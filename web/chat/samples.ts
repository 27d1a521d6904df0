/** Starters that show what is special about the gateway. */
import type { Conversation } from "./conversation.ts";
import type { IconName } from "../shared/icons.ts";

export interface Sample {
  readonly icon: IconName;
  readonly title: string;
  readonly about: string;
  readonly text: string;
  readonly changes: Partial<Conversation>;
}

export const WEATHER_TOOL = JSON.stringify(
  [
    {
      type: "function",
      name: "get_weather",
      description: "The weather in a city now.",
      parameters: {
        type: "object",
        properties: { city: { type: "string" } },
        required: ["city"],
        additionalProperties: false,
      },
    },
  ],
  undefined,
  2,
);

export const PERSON_SCHEMA = JSON.stringify(
  {
    type: "object",
    properties: { name: { type: "string" }, age: { type: "integer" }, city: { type: "string" } },
    required: ["name", "age", "city"],
    additionalProperties: false,
  },
  undefined,
  2,
);

export const SAMPLES: readonly Sample[] = [
  {
    icon: "chat",
    title: "A question",
    about: "Reasoning, then an answer",
    text: "Why is the sky blue, but a sunset red?",
    changes: {},
  },
  {
    icon: "tool",
    title: "A tool call",
    about: "Play the tool yourself",
    text: "What is the weather in Paris?",
    changes: { tools: WEATHER_TOOL },
  },
  {
    icon: "braces",
    title: "JSON by a schema",
    about: "An answer that always fits",
    text: "Invent a person.",
    changes: { format: "schema", schema: PERSON_SCHEMA },
  },
];
