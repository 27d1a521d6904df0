/** The landing page at `/`, for browsers. */
import type { Models } from "../../models/models.ts";
import { quoteShell } from "../../snippets/literals.ts";
import { escapeHtml, toPage } from "./html.ts";

export interface LandingOptions {
  /** `http://127.0.0.1:8787` */
  readonly origin: string;
  readonly models: Models;
  /** Whether a key is required. The page is public, so it then does not name the models. */
  readonly hasKeys: boolean;
  readonly hasInspector: boolean;
}

export function toLandingPage({ origin, models, hasKeys, hasInspector }: LandingOptions): string {
  const base = `${origin}/v1`;
  const body = JSON.stringify({
    model: hasKeys ? "openai/gpt-oss-20b" : models.all[0]?.id,
    messages: [{ role: "user", content: "Hello!" }],
  });
  const key = hasKeys ? " -H 'Authorization: Bearer <key>'" : "";
  const curl = `curl ${base}/chat/completions -H 'Content-Type: application/json'${key} -d ${quoteShell(body)}`;
  return toPage(
    "harmony-gateway",
    `<h1>harmony-gateway</h1>
<p>This serves gpt-oss through OpenAI's Chat Completions and Responses APIs and Anthropic's Messages API, and gives the
model its reasoning back between the calls of a tool loop.</p>
<table>
<tr><th>Base URL for OpenAI's clients<td><code>${escapeHtml(base)}</code>
<tr><th>for Anthropic's clients<td><code>${escapeHtml(origin)}</code>
<tr><th>Models<td>${hasKeys ? "listed at /v1/models, with a key" : toModelList(models)}
</table>
<pre>${escapeHtml(curl)}</pre>
<ul>${hasInspector ? INSPECTOR : ""}
<li><a href="api">The APIs</a>, route by route (<a href="openapi.json">OpenAPI</a>)
<li><a href="v1/models">Models</a>, <a href="ready">state of the engines</a>, <a href="metrics">metrics</a>
<li>The docs are in the folder <code>docs</code> of the repository; <code>harmony-gateway --help all</code> lists the settings.
</ul>`,
  );
}

const INSPECTOR = `
<li><a href="inspect">The inspector</a>: every turn as the model saw it. Its token was printed at the start.`;

function toModelList({ all }: Models): string {
  return all.map(({ id, status }) => `<code>${escapeHtml(id)}</code> (${status.state})`).join(", ");
}
