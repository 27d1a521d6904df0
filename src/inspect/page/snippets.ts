/** A request as code for the usual clients. */

export interface Snippet {
  readonly label: string;
  readonly make: (body: object, origin: string) => string;
}

const json = (value: unknown): string => JSON.stringify(value, undefined, 2);

function messagesOf(body: object): unknown {
  return Reflect.get(body, "messages");
}

export const SNIPPETS: readonly Snippet[] = [
  {
    label: "curl",
    make: (body, origin) =>
      `curl ${origin}/v1/chat/completions -H 'Content-Type: application/json' -d '${json(body).replaceAll("'", String.raw`'\''`)}'`,
  },
  {
    label: "OpenAI SDK",
    make: (body, origin) =>
      `import OpenAI from "openai";\n\nconst client = new OpenAI({ baseURL: "${origin}/v1", apiKey: "any" });\n` +
      `const answer = await client.chat.completions.create(${json({ ...body, stream: false })});\nconsole.log(answer.choices[0].message);\n`,
  },
  {
    label: "AI SDK",
    make: (body, origin) =>
      `import { createOpenAICompatible } from "@ai-sdk/openai-compatible";\nimport { generateText } from "ai";\n\n` +
      `const gateway = createOpenAICompatible({ name: "harmony-gateway", baseURL: "${origin}/v1" });\n` +
      `const { text } = await generateText({\n  model: gateway(${json(Reflect.get(body, "model"))}),\n  messages: ${json(messagesOf(body))},\n});\nconsole.log(text);\n`,
  },
  {
    label: "LangChain",
    make: (body, origin) =>
      `import { ChatOpenAI } from "@langchain/openai";\n\n` +
      `const model = new ChatOpenAI({ model: ${json(Reflect.get(body, "model"))}, apiKey: "any", configuration: { baseURL: "${origin}/v1" } });\n` +
      `const answer = await model.invoke(${json(messagesOf(body))});\nconsole.log(answer.content);\n`,
  },
];
