/**
 * Reads declarations of Anthropic's server tools. A field that the gateway's tools do not support is answered with a
 * 400 that names it.
 */
import * as z from "zod";
import { lazy } from "../../lazy.ts";
import { refusal } from "../errors.ts";
import { parseWith } from "../request/parse-request.ts";
import type { Declaration } from "../tools/hosted-tools.ts";

export interface ServerTool {
  /** `web_search_20250305` */
  readonly kind: string;
  readonly name: string;
  /** All fields of the declaration. */
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface DeclarationOptions {
  /** The name of the gateway's tool: `web_search`, `code_execution`. */
  readonly kind: string;
  /** The tool's path in the request. */
  readonly param: string;
  /** The interpreter that the request names. */
  readonly container: string | null | undefined;
}

/** Throws a {@link RequestError}. */
export function toDeclaration(
  { kind: dated, name, fields }: ServerTool,
  { kind, param, container }: DeclarationOptions,
): Declaration {
  const { max_uses: uses, allowed_callers: callers } = parseWith(serverTool(), fields, param);
  if (callers && !callers.includes("direct")) {
    throw refusal(
      `${param}.allowed_callers`,
      `this gateway runs ${name} for the model only, not for code it executes. Add "direct"`,
    );
  }
  const { max_uses: _, ...others } = fields;
  const isFetch = dated.startsWith("web_fetch");
  return {
    kind,
    fields: kind === "code_execution" ? { container } : others,
    param,
    ...(uses != null && { uses: isFetch ? { opens: uses } : { searches: uses } }),
  };
}

/** The gateway's tools compare hosts. An entry with a path would match nothing. */
const domain = lazy(() =>
  z
    .string()
    .regex(/^[^\s/*:]+$/, "must be a domain such as example.com, without scheme, path or wildcard"),
);

const serverTool = lazy(() =>
  z.looseObject({
    max_uses: z.int().min(1).nullish(),
    allowed_domains: z.array(domain()).nullish(),
    blocked_domains: z.array(domain()).nullish(),
    allowed_callers: z.array(z.string()).nullish(),
  }),
);
