/** Sample requests. */
export interface Sample {
  readonly label: string;
  readonly text: string;
  readonly tools: string;
  readonly toolChoice: string;
  readonly format: string;
}

const WEATHER = JSON.stringify(
  [
    {
      type: "function",
      function: {
        name: "get_weather",
        description: "The weather in a city now.",
        strict: true,
        parameters: {
          type: "object",
          properties: { city: { type: "string" }, unit: { enum: ["celsius", "fahrenheit"] } },
          required: ["city"],
          additionalProperties: false,
        },
      },
    },
  ],
  undefined,
  2,
);

const PERSON = JSON.stringify(
  {
    type: "object",
    properties: { name: { type: "string" }, age: { type: "integer" } },
    required: ["name", "age"],
    additionalProperties: false,
  },
  undefined,
  2,
);

export const SAMPLES: readonly Sample[] = [
  { label: "A question", text: "Why is the sky blue?", tools: "", toolChoice: "auto", format: "" },
  {
    label: "A forced call",
    text: "What is the weather in Oslo?",
    tools: WEATHER,
    toolChoice: "required",
    format: "",
  },
  {
    label: "An answer of a schema",
    text: "Invent a person.",
    tools: "",
    toolChoice: "auto",
    format: PERSON,
  },
];
