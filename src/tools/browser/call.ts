/** Reads a call of the `browser` tool: its function and its arguments. */
import * as z from "zod";
import { lazy } from "../../lazy.ts";
import type { GatewayTool, DescribedCall, ShownCall } from "../gateway-tool.ts";

/** `open` of `browser.open`. */
export function functionOf(recipient: string): string {
  return recipient.replace(/^browser\.?/, "");
}

export function readArguments(body: string): Arguments | undefined {
  try {
    const value: unknown = body.trim() === "" ? {} : JSON.parse(body);
    return browserArguments().safeParse(value).data;
  } catch {
    return undefined;
  }
}

/** See {@link GatewayTool.describe}. */
export function describeBrowserCall({ recipient, body }: DescribedCall): ShownCall {
  return shownAs(functionOf(recipient), readArguments(body) ?? {});
}

/** See {@link GatewayTool.countsAs}. */
export const countBrowserCall: NonNullable<GatewayTool["countsAs"]> = (recipient) => {
  const name = functionOf(recipient);
  return name === "search" || name === "open" ? name : undefined;
};

export function shownAs(name: string, { query = "", pattern = "" }: Partial<Arguments>): ShownCall {
  if (name === "search") return { type: "search", query, results: [] };
  return name === "find" ? { type: "find", pattern } : { type: "open" };
}

const looseNumber = lazy(() =>
  z.preprocess(
    (value) => (typeof value === "string" && value.trim() !== "" ? Number(value) : value),
    z
      .number()
      .nullish()
      .transform((value) => value ?? undefined),
  ),
);

/** The model's arguments: numbers may be strings, and unknown names are ignored. */
const browserArguments = lazy(() =>
  z.object({
    query: z.string().optional(),
    topn: looseNumber(),
    id: z
      .union([z.number(), z.string()])
      .nullish()
      .transform((value) => value ?? undefined),
    cursor: looseNumber(),
    loc: looseNumber(),
    num_lines: looseNumber(),
    pattern: z.string().optional(),
  }),
);

export type Arguments = z.output<ReturnType<typeof browserArguments>>;

/** A link's number that was sent as a string, or an address. */
export function toTarget(id: string): string | number {
  const text = id.trim().replace(/^view-source:/, "");
  if (/^-?\d{1,6}$/.test(text)) return Number(text);
  return /^[a-z][a-z0-9+.-]*:/i.test(text) ? text : `https://${text}`;
}
