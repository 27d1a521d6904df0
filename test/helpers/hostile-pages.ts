/** Pages that are costly to read unless every part of the browser tool is linear: one unit, repeated. */
export interface HostilePage {
  readonly name: string;
  /** Absent: HTML. */
  readonly type?: "text/plain";
  readonly start?: string;
  readonly unit: string;
}

export const HOSTILE_PAGES: readonly HostilePage[] = [
  { name: "lines of tabs", type: "text/plain", unit: "\ta" },
  { name: "tabs only", type: "text/plain", unit: "\t" },
  { name: "preformatted tabs", start: "<pre>", unit: "\ta" },
  { name: "preformatted spaces before a word", start: "<pre>", unit: `${" ".repeat(50)}<b>` },
  { name: "preformatted spaces", start: "<pre>x", unit: " " },
  { name: "preformatted lines", start: "<pre>", unit: "\n" },
  { name: "preformatted carriage returns", start: "<pre>", unit: "\r" },
  { name: "links in one line", unit: "<a href=x>y</a> " },
  { name: "links to other places", unit: "<a href=/x&#160;>y<a href=//b.example>z" },
  { name: "links without text", unit: "<a href=x>" },
  { name: "a link without an end", start: "<a href=x>", unit: "y" },
  { name: "text and tags in turn", unit: "a<i>" },
  { name: "closed tags in turn", unit: "a<i></i>" },
  { name: "unclosed spans", unit: "<span>" },
  { name: "unclosed spans, closed wrongly", unit: "<span></div>" },
  { name: "unclosed blocks", unit: "<div><section>x" },
  { name: "unclosed forms", unit: "<p><form>" },
  { name: "unclosed lists", unit: "<ol><li>" },
  { name: "unclosed quotations", unit: "<blockquote>x" },
  { name: "unclosed superscripts", unit: "<sup><sub>" },
  { name: "unclosed drawings", unit: "<svg><title>" },
  { name: "unclosed skipped tags", unit: "<noscript><template>" },
  { name: "table cells", start: "<table>", unit: "<tr><td>" },
  { name: "closing tags that nothing opened", unit: "</x></p>" },
  { name: "long tag names", start: "<", unit: "x" },
  { name: "angle brackets", unit: "<" },
  { name: "half a tag", unit: "<a" },
  { name: "half a closing tag", unit: "</a" },
  { name: "comments that do not end", unit: "<!--" },
  { name: "comments", unit: "<!---->" },
  { name: "character data", unit: "<![CDATA[" },
  { name: "processing instructions", unit: "<?" },
  { name: "a script that does not end", start: "<script>", unit: "</scrip" },
  { name: "attributes", start: "<p", unit: " a=b" },
  { name: "attributes with numbers as names", start: "<p", unit: " 7=b" },
  { name: "a long address", start: '<a href="', unit: "x" },
  { name: "an address of entities", start: '<a href="', unit: "&amp;" },
  { name: "images", unit: "<img alt='a  b'>" },
  { name: "ampersands", unit: "&" },
  { name: "entities", unit: "&lt;&#x1f600;" },
  { name: "digits of one entity", start: "&#", unit: "1" },
  { name: "half an entity", unit: "&CounterClockwiseContourIntegra" },
  { name: "a title that does not end", start: "<title>", unit: "x " },
  { name: "titles", unit: "<title>x</title>" },
  { name: "citation brackets", unit: "【0†" },
  { name: "closing citation brackets", unit: "】" },
  { name: "one word", unit: "x" },
  { name: "one word of wide characters", unit: "😀" },
  { name: "one word of dashes", unit: "-" },
  { name: "hyphenated words", unit: "ab-" },
  { name: "dashes between words", unit: "a--b." },
  { name: "punctuation before dashes", unit: "!!!!--" },
  { name: "short words", unit: "a " },
  { name: "lines of prose with dashes", type: "text/plain", unit: `${"a--!-".repeat(3000)}\n` },
  { name: "empty lines", type: "text/plain", unit: "\n" },
  { name: "headings that do not end", type: "text/plain", start: "#", unit: " " },
  { name: "marks of headings", type: "text/plain", unit: "#\n" },
  { name: "headings and spaces", type: "text/plain", unit: "# \t" },
];

/** A page of this many characters. */
export function toHostilePage({ start = "", unit }: HostilePage, length: number): string {
  const times = Math.max(1, Math.floor((length - start.length) / unit.length));
  return start + unit.repeat(times);
}
