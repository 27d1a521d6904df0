/** The OpenAPI document as a page. */
import { lazy } from "../../lazy.ts";
import { escapeHtml, toPage } from "./html.ts";
import { openApiDocument } from "./openapi.ts";
import { type Operation, OPERATIONS } from "./operations.ts";

export const apiPage: () => string = lazy(() => {
  const tags = [...new Set(OPERATIONS.map(({ tag }) => tag))];
  const { description } = openApiDocument().info;
  const sections = tags.map((tag) => {
    const operations = OPERATIONS.filter((each) => each.tag === tag);
    return `<h2>${tag}</h2>\n${operations.map((each) => toDetails(each)).join("\n")}`;
  });
  return toPage(
    "The APIs of harmony-gateway",
    `<p><a href="/">harmony-gateway</a></p>
<h1>APIs</h1>
<p>${escapeHtml(description)}</p>
<p><a href="/openapi.json">The same as an OpenAPI document</a></p>
${sections.join("\n")}`,
  );
});

function toDetails({ method, path, summary, body }: Operation): string {
  const schema = body && openApiDocument().components.schemas[body[0]];
  return `<details><summary><span class="method">${method}</span><code>${escapeHtml(path)}</code></summary>
<p>${escapeHtml(summary)}</p>${schema === undefined ? "" : toSchema(schema)}
</details>`;
}

function toSchema(schema: object): string {
  return `\n<p>The request's body:</p>\n<pre>${escapeHtml(JSON.stringify(schema, undefined, 2))}</pre>`;
}
