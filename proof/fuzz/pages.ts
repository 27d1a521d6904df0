/** Random pages through the browser tool: one unit of markup, repeated. None may be lost, forge a link or cost more than its length. */
import { createPause } from "../../src/streams/slices.ts";
import { htmlToText } from "../../src/tools/browser/html-to-text.ts";
import { findInPage, stripLinks } from "../../src/tools/browser/page.ts";
import { wrapLines } from "../../src/tools/browser/wrap-lines.ts";
import { startStepCounter, type StepCounter } from "../../test/helpers/count-steps.ts";
import { createRandom, type Random, seedOf } from "./random.ts";
import { shrinkList } from "./shrink.ts";

export interface PageInput {
  readonly isHtml: boolean;
  /** Stands once at the start. */
  readonly start: string;
  /** Repeated to the end. */
  readonly unit: readonly string[];
}

export interface PageFailure {
  readonly problem: string;
  readonly input: PageInput;
}

export interface PageFuzzer {
  run(index: number): Promise<PageFailure | undefined>;
  stop(): Promise<void>;
}

/** Lengths of the pages whose steps are compared. */
const SMALL = 5000;
const LARGE = 50_000;

const TAGS =
  "a b i p br hr h1 h6 ul ol li dl dt dd table tr td th pre blockquote div span section form select option button textarea script style title head body svg math noscript template iframe sup sub img details custom-tag plaintext xmp";
const TEXTS = [
  ..."< > & / ! - = ' \" ; # . , ? \t \n \r \v \u00A0 \u2028 【 】 † \u200B 😀 \uD800 é x 0".split(
    " ",
  ),
  " ",
  "   ",
  "word",
  "two words",
  "a-b",
  "ab--cd",
  "!!!",
  "----",
  "\r\n",
  "http://a.example/",
  ..."&lt; &amp &#65; &#x110000; &CounterClockwiseContourIntegral; <!-- --> <![CDATA[ ]]> <? <!doctype".split(
    " ",
  ),
  ..."href=x href='/y' alt=z class=c 7=8 href=\"".split(" ").map((each) => ` ${each}`),
];

export function createPageInput(random: Random): PageInput {
  const fragment = () => {
    if (random.oneIn(2)) return random.pick(TEXTS);
    const tag = random.pick(TAGS.split(" "));
    if (random.oneIn(3)) return `</${tag}>`;
    if (tag === "a")
      return `<a href="${random.pick(["x", "/y", "//b.example", "#", "mailto:x"])}">`;
    return random.oneIn(8) ? `<${tag}` : `<${tag}>`;
  };
  return {
    isHtml: !random.oneIn(6),
    start: random.oneIn(2) ? "" : fragment(),
    unit: Array.from({ length: random.between(1, 6) }, fragment),
  };
}

export async function createPageFuzzer(seed: number): Promise<PageFuzzer> {
  const counter = await startStepCounter(
    new URL("../../test/tools/browser/page-work.ts", import.meta.url),
  );
  return {
    async run(index) {
      const input = createPageInput(createRandom(seedOf(seed, index)));
      const problem = await check(input, counter);
      if (problem === undefined) return undefined;
      const fails = async (unit: readonly string[]) =>
        unit.length > 0 && (await check({ ...input, unit }, counter)) !== undefined;
      const unit = await shrinkList(input.unit, fails);
      return { problem, input: { ...input, unit } };
    },
    stop: () => counter.stop(),
  };
}

async function check(input: PageInput, counter: Pick<StepCounter, "count">) {
  return (await checkText(input)) ?? (await checkSteps(input, counter));
}

/** The problem, if there is one. */
export async function checkText(input: PageInput): Promise<string | undefined> {
  const html = toPage(input, SMALL);
  const page = input.isHtml
    ? await htmlToText(html, "https://a.example/dir/", SLICES)
    : { title: "", text: html, links: [] };
  const lines = wrapLines(page.text);
  const long = lines.findIndex((line) => Array.from(line).length > 80);
  if (long >= 0) return `line ${long} is longer than 80 characters`;
  if (withoutSpaces(lines.join("")) !== withoutSpaces(page.text)) return "the lines lose text";
  findInPage({ url: "", title: page.title, lines, links: page.links }, "x");
  if (!input.isHtml) return undefined;
  const rest = page.text.replaceAll(/【(\d+)†[^【】]+】/g, (link, id: string) =>
    Number(id) < page.links.length ? "" : link,
  );
  if (/[【】]/.test(rest)) return "a link is forged, or broken";
  return /【/.test(stripLinks(page.text)) ? "a link is left when links are removed" : undefined;
}

const SLICES = { pause: createPause(), signal: undefined, check() {} };

function withoutSpaces(text: string): string {
  return text.replaceAll(/[\t\n ]/g, "");
}

/** The problem, if the cost grows faster than the page. */
export async function checkSteps(
  input: PageInput,
  counter: Pick<StepCounter, "count">,
): Promise<string | undefined> {
  const type = input.isHtml ? "text/html" : "text/plain";
  const small = await counter.count({ type, body: toPage(input, SMALL) });
  const large = await counter.count({ type, body: toPage(input, LARGE) });
  const ratio = large.steps / small.steps;
  return ratio <= 1.5 * (LARGE / SMALL)
    ? undefined
    : `${LARGE / SMALL} times the page take ${ratio.toFixed(1)} times the steps`;
}

function toPage({ start, unit }: PageInput, length: number): string {
  const each = unit.join("");
  return start + each.repeat(Math.ceil(length / each.length));
}
