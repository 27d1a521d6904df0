/**
 * Protects a gateway without keys on loopback from DNS rebinding. No key is needed there because only this machine can
 * connect, but a web page can too: its own host name starts to resolve to this machine, the browser takes the gateway for
 * the page's own server, and only the `Host` header still has the page's name.
 */
import type { MiddlewareHandler } from "hono";
import { isLoopback } from "../../config/loopback.ts";
import type { Settings } from "../../config/settings.ts";
import type { ApiEnv } from "../request/client.ts";
import { RequestError } from "../errors.ts";

/**
 * Refuses requests whose `Host` does not name this machine, with a {@link RequestError} of status 403.
 *
 * @param host The address listened on. Undefined: the runtime decides who can reach the gateway.
 */
export function checkHost(settings: Settings, host: string | undefined): MiddlewareHandler<ApiEnv> {
  const { keys, open, allowedHosts } = settings;
  const guarded = host !== undefined && isLoopback(host) && keys.length === 0 && !open;
  if (!guarded) return (_, next) => next();
  return (c, next) => {
    const sent = c.req.header("host");
    if (sent === undefined || isLocalHost(sent) || allowedHosts.includes(withoutPort(sent))) {
      return next();
    }
    throw new RequestError(
      `The host name ${withoutPort(sent)} is not allowed. To allow it, add it to the setting allowedHosts.`,
      { status: 403 },
    );
  };
}

/** An address, or a name that always resolves to this machine. */
function isLocalHost(host: string): boolean {
  const name = withoutPort(host);
  return /^(\d{1,3}(\.\d{1,3}){3}|\[[\da-f:.]+\]|([\w-]+\.)*localhost\.?)$/i.test(name);
}

function withoutPort(host: string): string {
  return host.replace(/:\d*$/, "").toLowerCase();
}
