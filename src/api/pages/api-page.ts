/**
 * The reference page of the APIs: the purpose of each request, its fields, and code. The complete schemas are in the
 * OpenAPI document.
 */
import { lazy } from "../../lazy.ts";
import { codeSamples, exampleBody } from "./code-samples.ts";
import { escapeHtml, toPage } from "./html.ts";
import { meaningOf } from "./meanings/requests.ts";
import { openApiDocument } from "./openapi.ts";
import { type Operation, OPERATIONS } from "./operations.ts";
import { placesOf, type PlacesOptions } from "./places.ts";
import type { Theme } from "./theme.ts";
import { isObject } from "../../engines/untyped-json.ts";

export interface ApiPageOptions extends PlacesOptions {
  /** The gateway's address for clients. */
  readonly origin: string;
  /** Undefined: the system's theme. */
  readonly theme?: Theme | undefined;
}

const TAGS: readonly string[] = [...new Set(OPERATIONS.map(({ tag }) => tag))];

export function toApiPage(options: ApiPageOptions): string {
  const { description } = openApiDocument().info;
  const nav = TAGS.map((tag) => `<a class="pill" href="#${toId(tag)}">${tag}</a>`);
  const sections = TAGS.map((tag) => {
    const operations = OPERATIONS.filter((each) => each.tag === tag);
    return `<section><h2 id="${toId(tag)}">${tag}</h2>
${operations.map((each) => toOperation(each, options)).join("\n")}</section>`;
  });
  return toPage(
    "The APIs of harmony-gateway",
    `<h1>APIs</h1>
<p>${escapeHtml(description)}</p>
<p>Base URL <code>${escapeHtml(options.origin)}/v1</code>, for Anthropic's clients <code>${escapeHtml(options.origin)}</code>.
With keys, send one as <code>Authorization: Bearer …</code> or <code>x-api-key</code>.</p>
<nav class="toc" aria-label="Sections">${nav.join("")}</nav>
${sections.join("\n")}`,
    { theme: options.theme, above: toTopBar(options) },
  );
}

function toTopBar(options: PlacesOptions): string {
  const links = placesOf(options).map(
    ({ name, href }) =>
      `<a href="${href}"${name === "API" ? ' aria-current="page"' : ""}>${name}</a>`,
  );
  return `<header class="top">
<a class="brand" href="./"><span class="logo" aria-hidden="true"></span><span class="name">harmony-gateway</span></a>
<nav class="places" aria-label="Pages">${links.join("")}</nav>
<p class="status"><a class="pill" href="openapi.json">OpenAPI</a></p>
</header>
`;
}

function toId(tag: string): string {
  return tag.toLowerCase().replaceAll(" ", "-");
}

function toOperation(operation: Operation, { origin, hasChat }: ApiPageOptions): string {
  const { method, path, summary, body, isOpen } = operation;
  const samples = codeSamples(path, origin).map(
    ({ label, source }, index) =>
      `<details class="sample"${index === 0 ? " open" : ""}><summary>${label}</summary><pre tabindex="0">${escapeHtml(source)}</pre></details>`,
  );
  const example = exampleBody(path);
  const link =
    hasChat && example !== undefined
      ? `<p><a class="pill" href="./#request=${encodeURIComponent(JSON.stringify(example))}">Try in chat</a></p>`
      : "";
  return `<article><h3><span class="method">${method}</span> <code>${escapeHtml(path)}</code></h3>
<p>${escapeHtml(summary)}${isOpen === true ? " No key is needed." : ""}</p>
${samples.join("\n")}${link}${body === undefined ? "" : fieldsOf(body[0])}</article>`;
}

/** The fields as HTML, made once because they do not depend on the address. */
const fieldsOf = memoized((name: string): string => {
  const schema = openApiDocument().components.schemas[name];
  const properties: unknown = schema && Reflect.get(schema, "properties");
  const required: unknown = schema && Reflect.get(schema, "required");
  const rows = Object.entries(isRecord(properties) ? properties : {}).map(([field, type]) => {
    const { text, handling } = meaningOf(name, field) ?? { text: "", handling: "enforced" };
    const isRequired = Array.isArray(required) && required.includes(field);
    const marks = [
      isRequired ? "<b>required</b>" : "",
      handling === "enforced" ? "" : `<b>${handling}</b>`,
      toDefault(type),
    ].filter((mark) => mark !== "");
    const suffix = marks.length === 0 ? "" : ` <span class="quiet">${marks.join(" · ")}</span>`;
    return `<tr><td><code>${escapeHtml(field)}</code><td class="type">${escapeHtml(toTypeName(type, resolve))}<td>${toCode(text)}${suffix}`;
  });
  return `<details class="fields"><summary>${rows.length} fields</summary><table>
<tr><th scope="col">Field<th scope="col">Type<th scope="col">Meaning
${rows.join("\n")}
</table><p class="quiet"><a href="openapi.json">The whole schema</a> is <code>${name}</code>.</p></details>`;
});

function memoized(make: (name: string) => string): (name: string) => string {
  const made = lazy(() => new Map<string, string>());
  return (name) => {
    const known = made().get(name);
    if (known !== undefined) return known;
    const text = make(name);
    made().set(name, text);
    return text;
  };
}

/** `#/components/schemas/ChatCompletionRequest/…` */
function resolve(reference: string): unknown {
  let at: unknown = openApiDocument();
  for (const name of reference.slice(2).split("/")) at = isRecord(at) ? at[name] : undefined;
  return at;
}

/** Formats words between backquotes as code. */
function toCode(text: string): string {
  return escapeHtml(text).replaceAll(/&#96;([^&]*)&#96;|`([^`]*)`/g, "<code>$1$2</code>");
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** @param find finds the schema that a reference names */
function toTypeName(schema: unknown, find: (reference: string) => unknown): string {
  if (!isObject(schema)) return "any";
  const { $ref: reference } = schema;
  if (typeof reference === "string") return toTypeName(find(reference), find);
  const { anyOf, oneOf, enum: values, type, items } = schema;
  if ("const" in schema) return JSON.stringify(schema["const"]);
  if (Array.isArray(values)) return values.map((value) => String(value)).join(" · ");
  const members = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : undefined;
  if (members !== undefined) {
    const names = members
      .map((member) => toTypeName(member, find))
      .filter((name) => name !== "null");
    return [...new Set(names)].slice(0, MAX_NAMES).join(" or ") || "any";
  }
  if (type === "array") return `list of ${toPlural(toTypeName(items, find))}`;
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  const names = types.filter((each) => typeof each === "string" && each !== "null");
  return names.join(" or ") || "any";
}

/** Maximum number of type names shown. The schema has all. */
const MAX_NAMES = 4;

function toPlural(name: string): string {
  return /^\w+$/.test(name) && name !== "any" ? `${name}s` : name === "any" ? "values" : "objects";
}

/** `default 1`, or nothing. */
function toDefault(schema: unknown): string {
  if (!isObject(schema) || schema["default"] === undefined) return "";
  return `default ${JSON.stringify(schema["default"])}`;
}
