/**
 * The values of `format` that are enforced; all others are annotations. Every test is linear in the text: no
 * expression here is ambiguous.
 */

export interface Format {
  readonly name: string;
  readonly matches: (text: string) => boolean;
}

/** Finds a format. Undefined for a format that is not enforced. */
export function findFormat(name: string): Format | undefined {
  const matches = FORMATS.get(name);
  return matches && { name, matches };
}

export function formatNames(): string[] {
  return [...FORMATS.keys()];
}

const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
const TIME = /^(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:z|([+-])(\d\d):(\d\d))$/i;
const DURATION_DATE = String.raw`(?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D)`;
const DURATION_TIME = String.raw`T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S)`;
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const JSON_POINTER = /^(?:\/(?:[^~/]|~[01])*)*$/;
const RELATIVE_JSON_POINTER = /^(?:0|[1-9]\d*)(?:#|(?:\/(?:[^~/]|~[01])*)*)$/;
const FRAGMENT_POINTER = /^#(?:\/(?:[a-z0-9_\-.!$&'()*+,;:=@]|%[0-9a-f]{2}|~[01])*)*$/i;
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;
const OCTET = /^(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)$/;
const LOCAL_PART =
  /^(?:"(?:[ !#-[\]-~]|\\[ -~])*"|[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*)$/i;
const SCHEME = /^[a-z][a-z0-9+\-.]*:/i;
const PATH = /^(?:[a-z0-9\-._~!$&'()*+,;=:@/]|%[0-9a-f]{2})*$/i;
const QUERY = /^(?:[a-z0-9\-._~!$&'()*+,;=:@/?]|%[0-9a-f]{2})*$/i;
const USER = /^(?:[a-z0-9\-._~!$&'()*+,;=:]|%[0-9a-f]{2})*$/i;
const HOST = /^(?:[a-z0-9\-._~!$&'()*+,;=]|%[0-9a-f]{2})*$/i;
const FUTURE_ADDRESS = /^v[0-9a-f]+\.[a-z0-9\-._~!$&'()*+,;=:]+$/i;
const TEMPLATE_LITERAL = /^(?:[^\p{Cc} "<>%\\^`{|}]|%[0-9a-f]{2})*$/iu;
const TEMPLATE_VARIABLE =
  /^(?:[a-z0-9_]|%[0-9a-f]{2})+(?:\.(?:[a-z0-9_]|%[0-9a-f]{2})+)*(?::[1-9]\d{0,3}|\*)?$/i;

const FORMATS: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ["date", isDate],
  ["time", isTime],
  ["date-time", isDateTime],
  ["duration", isDuration],
  ["email", isEmail],
  ["hostname", isHostname],
  ["ipv4", isIpv4],
  ["ipv6", isIpv6],
  ["uri", (text: string) => SCHEME.test(text) && isUriReference(text)],
  ["uri-reference", isUriReference],
  ["uri-template", isUriTemplate],
  ["url", isUrl],
  ["uuid", (text: string) => UUID.test(text)],
  ["json-pointer", (text: string) => JSON_POINTER.test(text)],
  ["relative-json-pointer", (text: string) => RELATIVE_JSON_POINTER.test(text)],
  ["json-pointer-uri-fragment", (text: string) => FRAGMENT_POINTER.test(text)],
  ["regex", isRegex],
]);

// Dates

function isDate(text: string): boolean {
  const [, year, month, day] = (DATE.exec(text) ?? []).map(Number);
  if (year === undefined || month === undefined || day === undefined) return false;
  return month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month);
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

function isTime(text: string): boolean {
  const match = TIME.exec(text);
  if (!match) return false;
  const [, hour = "", minute = "", second = "", sign, offsetHour = "0", offsetMinute = "0"] = match;
  if (+hour > 23 || +minute > 59 || +second > 60 || +offsetHour > 23 || +offsetMinute > 59) {
    return false;
  }
  if (+second < 60) return true;
  // A leap second is the last second of a day in UTC.
  const offset = (sign === "-" ? -1 : 1) * (+offsetHour * 60 + +offsetMinute);
  const utc = (+hour * 60 + +minute - offset + 24 * 60) % (24 * 60);
  return utc === 23 * 60 + 59;
}

function isDateTime(text: string): boolean {
  const separator = text[10] ?? "";
  return /^[t\s]$/i.test(separator) && isDate(text.slice(0, 10)) && isTime(text.slice(11));
}

function isDuration(text: string): boolean {
  return new RegExp(
    String.raw`^P(?:\d+W|${DURATION_DATE}(?:${DURATION_TIME})?|${DURATION_TIME})$`,
  ).test(text);
}

// Hosts

function isHostname(text: string): boolean {
  return text.length <= 253 && text.split(".").every((label) => LABEL.test(label));
}

function isIpv4(text: string): boolean {
  const octets = text.length <= 15 ? text.split(".") : [];
  return octets.length === 4 && octets.every((octet) => OCTET.test(octet));
}

function isIpv6(text: string): boolean {
  if (text.length > 45) return false;
  const halves = text.split("::");
  if (halves.length > 2) return false;
  let groups = 0;
  for (const [index, half] of halves.entries()) {
    const parts = half === "" ? [] : half.split(":");
    for (const [at, part] of parts.entries()) {
      const isLast = index === halves.length - 1 && at === parts.length - 1;
      if (isLast && isIpv4(part)) groups += 2;
      else if (/^[0-9a-f]{1,4}$/i.test(part)) groups++;
      else return false;
    }
  }
  return halves.length === 2 ? groups <= 7 : groups === 8;
}

function isEmail(text: string): boolean {
  const at = text.lastIndexOf("@");
  const host = text.slice(at + 1);
  if (at < 1 || at > 64 || !LOCAL_PART.test(text.slice(0, at))) return false;
  const address = /^\[(?:(ipv6:))?(.*)\]$/i.exec(host);
  if (!address) return isHostname(host);
  const [, isSix, numbers = ""] = address;
  return isSix === undefined ? isIpv4(numbers) : isIpv6(numbers);
}

// URIs (RFC 3986): split at the delimiters, then each part is checked against its character set

function isUriReference(text: string): boolean {
  const [beforeFragment, fragment] = cutAt(text, "#");
  const [beforeQuery, query] = cutAt(beforeFragment, "?");
  if (!QUERY.test(fragment) || !QUERY.test(query)) return false;
  const scheme = SCHEME.exec(beforeQuery)?.[0] ?? "";
  const rest = beforeQuery.slice(scheme.length);
  if (!rest.startsWith("//")) {
    // Without a scheme, a colon in the first segment would be read as one.
    const [first = ""] = rest.split("/", 1);
    return PATH.test(rest) && (scheme !== "" || !first.includes(":"));
  }
  const slash = rest.indexOf("/", 2);
  const end = slash < 0 ? rest.length : slash;
  return isAuthority(rest.slice(2, end)) && PATH.test(rest.slice(end));
}

function isAuthority(text: string): boolean {
  const at = text.indexOf("@");
  if (at >= 0 && !USER.test(text.slice(0, at))) return false;
  const [, address, name = "", port = ""] =
    /^(?:\[([^\]]*)\]|([^:[\]]*))(:\d*)?$/.exec(text.slice(at + 1)) ?? [];
  if (address !== undefined) return isIpv6(address) || FUTURE_ADDRESS.test(address);
  return HOST.test(name) && text.slice(at + 1) === name + port;
}

function cutAt(text: string, delimiter: string): readonly [string, string] {
  const at = text.indexOf(delimiter);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

function isUrl(text: string): boolean {
  return /^(?:https?|ftp):\/\/[^\s/]/i.test(text) && !/\s/.test(text) && URL.canParse(text);
}

/** RFC 6570. */
function isUriTemplate(text: string): boolean {
  const [literal = "", ...expressions] = text.split("{");
  if (!TEMPLATE_LITERAL.test(literal)) return false;
  return expressions.every((each) => {
    const end = each.indexOf("}");
    if (end < 0 || !TEMPLATE_LITERAL.test(each.slice(end + 1))) return false;
    const variables = each.slice(0, end).replace(/^[+#./;?&=,!@|]/, "");
    return variables.split(",").every((variable) => TEMPLATE_VARIABLE.test(variable));
  });
}

/** Parsing an expression is linear; only matching is not. */
function isRegex(text: string): boolean {
  try {
    return new RegExp(text, "u") instanceof RegExp;
  } catch {
    return false;
  }
}
