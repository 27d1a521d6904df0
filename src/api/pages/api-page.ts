/** The OpenAPI document as a page. */
import { lazy } from "../../lazy.ts";
import { escapeHtml, toPage } from "./html.ts";
import { openApiDocument } from "./openapi.ts";
import { type Operation, OPERATIONS } from "./operations.ts";
import { replyParts, toReplySchema } from "./reply-schemas.ts";

export const apiPage: () => string = lazy(() => {
  const tags = [...new Set(OPERATIONS.map(({ tag }) => tag))];
  const { description } = openApiDocument().info;
  const sections = tags.map((tag) => {
    const operations = OPERATIONS.filter((each) => each.tag === tag);
    return `<h2>${tag}</h2>\n${operations.map((each) => toDetails(each)).join("\n")}`;
  });
  return toPage(
    "The APIs of harmony-gateway",
    `<p><a href="./">harmony-gateway</a></p>
<h1>APIs</h1>
<p>${escapeHtml(description)}</p>
<p><a href="openapi.json">The same as an OpenAPI document</a></p>
${sections.join("\n")}
<h2>Parts of answers</h2>
${Object.entries(replyParts())
  .map((each) => toPart(each))
  .join("\n")}`,
  );
});

function toDetails(operation: Operation): string {
  const { method, path, summary, body, json, events } = operation;
  const request = body && openApiDocument().components.schemas[body[0]];
  const parts = [
    request && toSchema("The request's body", request),
    json && toSchema("The answer", toReplySchema(json)),
    events && toSchema("The answer in events, each of them", toReplySchema(events)),
  ];
  return `<details><summary><span class="method">${method}</span><code>${escapeHtml(path)}</code></summary>
<p>${escapeHtml(summary)}</p>${parts.filter((each) => each !== undefined).join("")}
</details>`;
}

/** The parts that responses share. */
function toPart([name, schema]: readonly [string, object]): string {
  return `<details id="${name}"><summary><code>${name}</code></summary>${toSchema("", schema)}
</details>`;
}

function toSchema(title: string, schema: object): string {
  const json = escapeHtml(JSON.stringify(schema, undefined, 2)).replaceAll(
    /#\/components\/schemas\/(\w+)/g,
    (reference, name: string) =>
      Object.hasOwn(replyParts(), name) ? `<a href="#${name}">${name}</a>` : reference,
  );
  return `${title === "" ? "" : `\n<p>${title}:</p>`}\n<pre>${json}</pre>`;
}
