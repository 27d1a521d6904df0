/**
 * Decides whether pages may be fetched from an IP address: only from public ones. A page may lead the model to
 * addresses in the operator's network, so private, loopback, link-local, shared and multicast ranges are refused, and
 * IPv6 addresses that embed such an IPv4 address.
 */

/** IPv4 ranges that are not public: first address and prefix length (IANA's special-purpose registry). */
const RESERVED_V4: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  // Multicast, then the reserved ranges up to the broadcast address.
  ["224.0.0.0", 3],
];

/**
 * Accepts addresses in the form of a resolver or `URL`, IPv6 with or without brackets. Text that is not an address is
 * not public.
 */
export function isPublicAddress(address: string): boolean {
  const bare = address.replace(/^\[|\]$/g, "").replace(/%.*$/, "");
  const v4 = parseV4(bare);
  if (v4 !== undefined) return isPublicV4(v4);
  const groups = parseV6(bare);
  return groups !== undefined && isPublicV6(groups);
}

/** Whether a host name is an IP address in the spelling of `URL`. */
export function isAddress(host: string): boolean {
  return host.startsWith("[") || parseV4(host) !== undefined;
}

function isPublicV4(address: number): boolean {
  return !RESERVED_V4.some(([first, length]) => {
    const size = 2 ** (32 - length);
    return Math.floor(address / size) === Math.floor((parseV4(first) ?? 0) / size);
  });
}

function isPublicV6(groups: readonly number[]): boolean {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = groups;
  const low = g * 0x1_0000 + h;
  // NAT64: a translator connects to the embedded IPv4 address.
  if (a === 0x64 && b === 0xff9b) return c + d + e + f === 0 && isPublicV4(low);
  // Global unicast is 2000::/3. All other ranges are refused: loopback, mapped or compatible IPv4, unique local,
  // link-local, multicast.
  if (a < 0x2000 || a > 0x3fff) return false;
  // 6to4 embeds an IPv4 address.
  if (a === 0x2002) return isPublicV4(b * 0x1_0000 + c);
  // Protocol assignments such as Teredo, benchmarking, ORCHID; documentation.
  if (a === 0x2001 && (b < 0x200 || b === 0xdb8)) return false;
  return !(a === 0x3fff && b < 0x1000);
}

function parseV4(text: string): number | undefined {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)?.slice(1).map(Number);
  if (parts === undefined || parts.some((part) => part > 255)) return undefined;
  return parts.reduce((sum, part) => sum * 256 + part, 0);
}

function parseV6(text: string): readonly number[] | undefined {
  // `::ffff:127.0.0.1`
  const dotted = /^(.*:)([\d.]+)$/.exec(text);
  const v4 = dotted?.[2]?.includes(".") ? parseV4(dotted[2]) : undefined;
  if (text.includes(".") && v4 === undefined) return undefined;
  const hex =
    v4 === undefined
      ? text
      : `${dotted?.[1] ?? ""}${Math.floor(v4 / 0x1_0000).toString(16)}:${(v4 % 0x1_0000).toString(16)}`;
  const halves = hex.split("::");
  if (halves.length > 2 || !/^[0-9a-f:]*$/i.test(hex)) return undefined;
  const [head = [], tail = []] = halves.map((half) => (half === "" ? [] : half.split(":")));
  const missing = 8 - head.length - tail.length;
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined;
  const all = [...head, ...Array.from({ length: missing }, () => "0"), ...tail];
  const groups = all.map((group) => (/^[0-9a-f]{1,4}$/i.test(group) ? parseInt(group, 16) : NaN));
  return groups.some((group) => Number.isNaN(group)) ? undefined : groups;
}
