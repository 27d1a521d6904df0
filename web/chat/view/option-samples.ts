/** A sample tool and a sample schema for the fields of the settings. */

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
