/** Schemas of the tools that clients declare in the field `tools` and in input items. */
import * as z from "zod";
import { lazy } from "../../lazy.ts";

const textLike = lazy(() => z.string().nullish());

const toolName = lazy(() =>
  z.string().regex(/^[\w-]{1,64}$/, "must be 1 to 64 letters, digits, underscores or dashes"),
);

const functionTool = lazy(() =>
  z.object({
    type: z.literal("function"),
    name: toolName(),
    description: textLike(),
    parameters: z.record(z.string(), z.unknown()).nullish(),
    strict: z.boolean().nullish(),
    defer_loading: z.boolean().nullish(),
  }),
);

/**
 * Maximum length of a grammar, which engines compile. A grammar of a programming language has about 20,000 characters.
 */
const MAX_DEFINITION_LENGTH = 65_536;

/** A tool that takes one text. */
const customTool = lazy(() =>
  z.object({
    type: z.literal("custom"),
    name: toolName(),
    description: textLike(),
    format: z
      .discriminatedUnion("type", [
        z.object({ type: z.literal("text") }),
        z.object({
          type: z.literal("grammar"),
          syntax: z.enum(["lark", "regex"]),
          definition: z.string().max(MAX_DEFINITION_LENGTH),
        }),
      ])
      .nullish(),
    defer_loading: z.boolean().nullish(),
  }),
);

/** Tools under a common name, such as an MCP server's, or Codex's sub-agents. */
const namespaceTool = lazy(() =>
  z.object({
    type: z.literal("namespace"),
    name: toolName(),
    description: textLike(),
    tools: z.array(
      z.union([
        z.discriminatedUnion("type", [functionTool(), customTool()]),
        hostedTool(new Set(["function", "custom"])),
      ]),
    ),
  }),
);

/** A search for further tools, run by the client. A search run by the gateway is read with the other hosted tools. */
const toolSearch = lazy(() =>
  z.object({
    type: z.literal("tool_search"),
    execution: z.literal("client"),
    description: textLike(),
    parameters: z.record(z.string(), z.unknown()).nullish(),
  }),
);

/** Tools that a server runs, and client-side kinds that gpt-oss does not support. Codex sends several with its functions. */
const hostedTool = (known: ReadonlySet<string>) =>
  z
    .looseObject({ type: z.string().refine((type) => !known.has(type), "is not complete") })
    .transform((fields) => ({ type: "hosted" as const, kind: fields.type, fields }));

const KNOWN: ReadonlySet<string> = new Set(["function", "custom", "namespace"]);

export const tool = lazy(() =>
  z.union([
    z.discriminatedUnion("type", [functionTool(), customTool(), namespaceTool()]),
    toolSearch(),
    hostedTool(KNOWN),
  ]),
);

export const toolList = z.lazy(() => z.object({ tools: z.array(tool()) }));

export type Tool = z.infer<ReturnType<typeof tool>>;
export type CustomTool = z.infer<ReturnType<typeof customTool>>;
