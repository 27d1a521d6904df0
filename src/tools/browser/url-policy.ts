/** Decides whether the model may open a web address. */
import { isAddress, isPublicAddress } from "./addresses.ts";

export interface UrlPolicy {
  /** Domains that may be opened, including their subdomains. Empty: all. */
  readonly allow: readonly string[];
  /** The operator's own list: a request can only narrow it. */
  readonly within?: readonly string[];
  /** Domains that may not be opened, whatever `allow` says. */
  readonly deny: readonly string[];
}

/** Thrown if a page may not be fetched. The message is for the model. */
export class FetchRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = "FetchRefused";
  }
}

/**
 * Checks an address before it is fetched, and the target of each redirect. Addresses behind a host name are checked
 * when the connection is made. Throws a {@link FetchRefused}.
 */
export function checkUrl(text: string, policy: UrlPolicy): URL {
  if (text.length > MAX_URL) throw new FetchRefused("this address is too long");
  const url = URL.parse(text);
  if (url === null) throw new FetchRefused("this is not a URL");
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new FetchRefused("only http and https can be opened");
  }
  if (url.username !== "" || url.password !== "") {
    throw new FetchRefused("a URL with a user name or password cannot be opened");
  }
  // `URL` omits a protocol's default port.
  if (url.port !== "" && url.port !== "80" && url.port !== "443") {
    throw new FetchRefused("only ports 80 and 443 can be opened");
  }
  const host = withoutDots(url.hostname);
  const isPublic = isAddress(host) ? isPublicAddress(host) : isPublicName(host);
  if (!isPublic) throw new FetchRefused("this address is not public");
  if (!isAllowedHost(host, policy)) throw new FetchRefused("this domain is not allowed");
  return url;
}

/** Maximum length of an address, as accepted by servers. A redirect may contain a longer one. */
export const MAX_URL = 8192;

/** Whether results and pages from this host may be shown. */
export function isAllowedHost(name: string, { allow, within = [], deny }: UrlPolicy): boolean {
  const host = withoutDots(name);
  if (deny.some((domain) => isWithin(host, domain))) return false;
  return [allow, within].every(
    (domains) => domains.length === 0 || domains.some((domain) => isWithin(host, domain)),
  );
}

/** Removes dots at the end of a name, which resolvers ignore. */
function withoutDots(host: string): string {
  let end = host.length;
  while (host[end - 1] === ".") end--;
  return host.slice(0, end);
}

function isWithin(host: string, domain: string): boolean {
  const bare = withoutDots(domain.toLowerCase().replace(/^\*?\./, ""));
  return host === bare || host.endsWith(`.${bare}`);
}

/** Whether a host name may be public: some names exist only in a local network. */
function isPublicName(host: string): boolean {
  return (
    host.includes(".") &&
    !/(?:^|\.)(?:localhost|local|internal|intranet|lan|home\.arpa)$/.test(host)
  );
}
