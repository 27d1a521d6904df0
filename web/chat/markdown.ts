/**
 * Markdown as templates and text: there are no HTML strings, so nothing needs to be sanitized. HTML in the text is shown
 * unchanged. Images are not loaded, because their URL can leak the conversation.
 */
import { html, nothing, type TemplateResult } from "lit-html";
import type { Token, Tokens } from "marked";
import { toTokens } from "./bounded-lexer.ts";
import { members, text as readText } from "../../src/snippets/read.ts";
import type { Formula } from "./formulas.ts";
import { highlight } from "./highlight.ts";
import { formula } from "./tex-formula.ts";
import { copyButton } from "./view/copy-button.ts";

/** Maximum depth of quotations and lists. Deeper ones are shown unchanged. */
const MAX_DEPTH = 24;

export function toTemplate(text: string): TemplateResult {
  const json = toPrettyJson(text);
  if (json !== undefined) return codeBlock("json", json);
  return html`${blocks(toTokens(text), 0)}`;
}

/** A Python call: the arguments are code, or an object with the code. */
export function pythonCall(written: string): TemplateResult {
  return codeBlock("python", toMember(written) ?? written);
}

function toMember(written: string): string | undefined {
  try {
    return readText(members(JSON.parse(written))["code"]);
  } catch {
    return undefined;
  }
}

function blocks(tokens: readonly Token[], depth: number): unknown[] {
  if (depth > MAX_DEPTH) return [tokens.map(({ raw }) => raw).join("")];
  return tokens.map((token) => block(token, depth + 1));
}

function block(token: Token, depth: number): unknown {
  if (isKnown(token, "heading")) return heading(token, depth);
  if (isKnown(token, "paragraph")) return html`<p>${inline(token.tokens, depth)}</p>`;
  if (isKnown(token, "code")) return codeBlock(token.lang ?? "", token.text);
  if (isKnown(token, "blockquote"))
    return html`<blockquote>${blocks(token.tokens, depth)}</blockquote>`;
  if (isKnown(token, "list")) return list(token, depth);
  if (isKnown(token, "table")) return table(token, depth);
  if (isKnown(token, "hr")) return html`<hr />`;
  if (isKnown(token, "space") || isKnown(token, "def") || isKnown(token, "checkbox"))
    return nothing;
  if (isKnown(token, "formula")) return formula(token);
  if (isKnown(token, "text")) {
    return token.tokens === undefined ? unescape(token.text) : inline(token.tokens, depth);
  }
  return html`<p class="as-written">${token.raw}</p>`;
}

interface Kinds {
  blockquote: Tokens.Blockquote;
  br: Tokens.Br;
  checkbox: Tokens.Checkbox;
  code: Tokens.Code;
  codespan: Tokens.Codespan;
  def: Tokens.Def;
  del: Tokens.Del;
  em: Tokens.Em;
  escape: Tokens.Escape;
  formula: Formula;
  heading: Tokens.Heading;
  hr: Tokens.Hr;
  image: Tokens.Image;
  link: Tokens.Link;
  list: Tokens.List;
  paragraph: Tokens.Paragraph;
  space: Tokens.Space;
  strong: Tokens.Strong;
  table: Tokens.Table;
  text: Tokens.Text;
}

function isKnown<Kind extends keyof Kinds>(token: Token, kind: Kind): token is Kinds[Kind] {
  return token.type === kind;
}

/** A heading, below the levels of the page's own headings. */
function heading({ depth: level, tokens }: Tokens.Heading, depth: number): TemplateResult {
  const text = inline(tokens, depth);
  if (level <= 1) return html`<h3>${text}</h3>`;
  return level === 2 ? html`<h4>${text}</h4>` : html`<h5>${text}</h5>`;
}

/** A JSON object or list with line breaks, if it is the whole answer. */
function toPrettyJson(text: string): string | undefined {
  if (!/^\s*[[{]/.test(text) || text.length > MAX_JSON) return undefined;
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return undefined;
  }
}

const MAX_JSON = 100_000;

function codeBlock(given: string, text: string): TemplateResult {
  const language = /^[\w+#-]{1,20}/.exec(given)?.[0] ?? "";
  return html`<figure class="code">
    <figcaption>
      <span>${language}</span>
      ${copyButton("Copy code", () => text)}
    </figcaption>
    <pre tabindex="0"><code>${highlight(text, language)}</code></pre>
  </figure>`;
}

function list({ ordered, start, items }: Tokens.List, depth: number): TemplateResult {
  const content = items.map(
    ({ tokens, task, checked }) =>
      html`<li>
        ${task ? html`<input type="checkbox" disabled ?checked=${checked} aria-label="done" /> ` : nothing}${blocks(tokens, depth)}
      </li>`,
  );
  return ordered
    ? html`<ol dir="auto" start=${Number(start) || 1}>
        ${content}
      </ol>`
    : html`<ul dir="auto">
        ${content}
      </ul>`;
}

function table({ header, rows, align }: Tokens.Table, depth: number): TemplateResult {
  const side = (index: number) => (align[index] === "right" ? "right" : "");
  return html`<div class="table" tabindex="0" role="region" aria-label="Table">
    <table>
      <thead>
        <tr>
          ${header.map((cell, index) => html`<th class=${side(index)} scope="col">${inline(cell.tokens, depth)}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>
              ${row.map((cell, index) => html`<td class=${side(index)}>${inline(cell.tokens, depth)}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

function inline(tokens: readonly Token[] = [], depth: number): unknown[] {
  if (depth > MAX_DEPTH) return [tokens.map(({ raw }) => raw).join("")];
  return tokens.map((token) => piece(token, depth + 1));
}

function piece(token: Token, depth: number): unknown {
  if (isKnown(token, "strong")) return html`<strong>${inline(token.tokens, depth)}</strong>`;
  if (isKnown(token, "em")) return html`<em>${inline(token.tokens, depth)}</em>`;
  if (isKnown(token, "del")) return html`<del>${inline(token.tokens, depth)}</del>`;
  if (isKnown(token, "codespan")) return html`<code>${token.text}</code>`;
  if (isKnown(token, "br")) return html`<br />`;
  // The token belongs to an item with paragraphs, which has its own checkbox.
  if (isKnown(token, "checkbox")) return nothing;
  if (isKnown(token, "escape")) return token.text;
  if (isKnown(token, "link")) return link(token, depth);
  if (isKnown(token, "image")) return image(token);
  if (isKnown(token, "formula")) return formula(token);
  if (isKnown(token, "text")) {
    return token.tokens === undefined ? unescape(token.text) : inline(token.tokens, depth);
  }
  return token.raw;
}

function link({ href, tokens, raw }: Tokens.Link, depth: number): unknown {
  if (!isSafe(href)) return raw;
  return html`<a href=${href} target="_blank" rel="noopener noreferrer"
    >${inline(tokens, depth)}</a
  >`;
}

function isSafe(href: string): boolean {
  return URL.canParse(href) && /^(https?|mailto):$/.test(new URL(href).protocol);
}

/** The URL of an image as text, so that the reader sees its origin. */
function image({ href, text }: Tokens.Image): TemplateResult {
  return html`<span class="image">image not loaded: ${text} <code>${href}</code></span>`;
}

/** Decodes common entities, which the lexer leaves unchanged. */
function unescape(text: string): string {
  return text.replaceAll(
    /&(amp|lt|gt|quot|#39|nbsp);/g,
    (whole, name: string) => ENTITIES.get(name) ?? whole,
  );
}

const ENTITIES = new Map([
  ["amp", "&"],
  ["lt", "<"],
  ["gt", ">"],
  ["quot", '"'],
  ["#39", "'"],
  ["nbsp", "\u00a0"],
]);
