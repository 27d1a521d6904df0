/** Which addresses on the web the model may open. */
import { isAddress, isPublicAddress } from "./addresses.ts";

export interface UrlPolicy {
  /** Domains that may be opened, with their subdomains. Empty: all. */
  readonly allow: readonly string[];
  /** The same of the operator's settings: what a request allows can only be less. */
  readonly within?: readonly string[];
  /** Domains that may not, whatever `allow` says. */
  readonly deny: readonly string[];
}

/** Why a page may not be fetched. The message is for the model. */
export class FetchRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = "FetchRefused";
  }
}

/**
 * Checks an address before it is fetched, and each one it redirects to. Addresses behind a name are checked where the
 * connection is made. Throws a {@link FetchRefused}.
 */
export function checkUrl(text: string, policy: UrlPolicy): URL {
  const url = URL.parse(text);
  if (url === null) throw new FetchRefused("this is not a URL");
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new FetchRefused("only http and https can be opened");
  }
  if (url.username !== "" || url.password !== "") {
    throw new FetchRefused("a URL with a user name or password cannot be opened");
  }
  // `URL` leaves out the port that is the protocol's own.
  if (url.port !== "" && url.port !== "80" && url.port !== "443") {
    throw new FetchRefused("only ports 80 and 443 can be opened");
  }
  const host = url.hostname.replace(/\.$/, "");
  const isPublic = isAddress(host) ? isPublicAddress(host) : isPublicName(host);
  if (!isPublic) throw new FetchRefused("this address is not public");
  if (!isAllowedHost(host, policy)) throw new FetchRefused("this domain is not allowed");
  return url;
}

/** Whether results and pages of this host may be shown. */
export function isAllowedHost(host: string, { allow, within = [], deny }: UrlPolicy): boolean {
  if (deny.some((domain) => isWithin(host, domain))) return false;
  return [allow, within].every(
    (domains) => domains.length === 0 || domains.some((domain) => isWithin(host, domain)),
  );
}

function isWithin(host: string, domain: string): boolean {
  const bare = domain.toLowerCase().replace(/^\*?\./, "");
  return host === bare || host.endsWith(`.${bare}`);
}

/** Names that only a local network knows. */
function isPublicName(host: string): boolean {
  return (
    host.includes(".") &&
    !/(?:^|\.)(?:localhost|local|internal|intranet|lan|home\.arpa)$/.test(host)
  );
}
