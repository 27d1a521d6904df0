/** The setting `mcpServers`: MCP servers that the operator offers, by label. */
import * as z from "zod";
import { isLabel } from "../harmony/tool-names.ts";
import { lazy } from "../lazy.ts";
import { milliseconds, url } from "./setting.ts";

const toolFilter = lazy(() =>
  z.strictObject({
    toolNames: z.array(z.string()).optional(),
    readOnly: z.boolean().optional(),
  }),
);

const texts = () => z.record(z.string(), z.string());

const mcpServer = lazy(() =>
  z
    .strictObject({
      url: url().optional(),
      headers: texts().optional(),
      command: z.string().min(1).optional(),
      args: z.array(z.string()).optional(),
      env: texts().optional(),
      description: z.string().max(2000).optional(),
      allowedTools: z
        .union([z.array(z.string()), toolFilter()], {
          error: "expected a list of names, or an object with toolNames or readOnly",
        })
        .optional(),
      requireApproval: z
        .union(
          [
            z.enum(["always", "never"]),
            z.strictObject({ always: toolFilter().optional(), never: toolFilter().optional() }),
          ],
          { error: "expected always, never, or an object with always or never" },
        )
        .optional(),
      timeoutMs: milliseconds().optional(),
    })
    .refine((given) => (given.url === undefined) !== (given.command === undefined), {
      error: "expected either url or command",
    }),
);

export const mcpServers = lazy(() =>
  z.record(z.string().refine(isLabel), mcpServer(), {
    error: ({ code }) => (code === "invalid_key" ? WRONG_LABEL : undefined),
  }),
);

const WRONG_LABEL =
  "expected up to 64 letters, digits, dashes or _, and no name of the model's own tools and roles";

export type McpServerSettings = z.output<ReturnType<typeof mcpServer>>;
