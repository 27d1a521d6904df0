/**
 * Controls access to the inspector, which shows text of users and models.
 *
 * Its data needs a token, in a header that a page of another origin can send only with permission (CORS, refused here), so that
 * neither a link nor a form can use it. The host is checked against DNS rebinding. Forwarding headers show that other machines
 * can reach the gateway: then the operator must have chosen the token.
 */
import type { Context, MiddlewareHandler } from "hono";
import { sha256Hex } from "../api/sha256.ts";
import type { ApiEnv } from "../api/request/client.ts";
import { isLoopback } from "../config/loopback.ts";

export interface AccessOptions {
  readonly token: string;
  /** The operator has configured the token, so requests may come through a proxy, with any host name. */
  readonly isChosen: boolean;
  /** The listening address, and further allowed names. */
  readonly host: string;
  readonly allowedHosts: readonly string[];
}

/** The header with the token. */
export const TOKEN_HEADER = "x-inspect-token";

const FORWARDING = [
  "forwarded",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-real-ip",
  "cf-connecting-ip",
  "via",
];

/** Answers 403 with the reason if a request does not come from this machine under one of its names. */
export function checkOrigin(options: AccessOptions): MiddlewareHandler<ApiEnv> {
  return async (c, next) => {
    const problem = findProblem(c, options);
    if (problem !== undefined) return c.json({ error: problem }, 403);
    return next();
  };
}

/** Answers 401 without the token. */
export function checkToken({ token }: AccessOptions): MiddlewareHandler<ApiEnv> {
  const expected = sha256Hex(token);
  return async (c, next) => {
    // Digests are compared, so that the time taken reveals nothing about the token.
    if ((await sha256Hex(c.req.header(TOKEN_HEADER) ?? "")) === (await expected)) return next();
    return c.json(
      { error: "The token is missing or wrong. Open the address that was printed." },
      401,
    );
  };
}

function findProblem(
  c: Context<ApiEnv>,
  { isChosen, host: listened, allowedHosts }: AccessOptions,
): string | undefined {
  const forwarding = FORWARDING.find((name) => c.req.header(name) !== undefined);
  if (forwarding !== undefined && !isChosen) {
    return `The request came through a proxy (${forwarding}). Set inspectKey to use the inspector behind one.`;
  }
  const host = c.req.header("host") ?? new URL(c.req.url).host;
  const name = host.replace(/:\d+$/, "");
  const isKnown =
    isLoopback(name) ||
    name === listened ||
    `[${listened}]` === name ||
    allowedHosts.includes(name);
  if (!isChosen && !isKnown) {
    return `The host name ${name} is not allowed here. Add it to allowedHosts, or use the address that was printed.`;
  }
  const origin = c.req.header("origin");
  const isOtherOrigin = origin !== undefined && URL.parse(origin)?.host !== host;
  const site = c.req.header("sec-fetch-site") ?? "none";
  const isNavigation = c.req.header("sec-fetch-mode") === "navigate";
  const isOtherSite = site !== "same-origin" && site !== "none" && !isNavigation;
  return isOtherOrigin || isOtherSite
    ? "Pages of other origins may not use the inspector."
    : undefined;
}
