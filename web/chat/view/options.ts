/** The settings of the conversation. Only changed ones are sent. */
import { html, nothing, type TemplateResult } from "lit-html";
import { live } from "lit-html/directives/live.js";
import type { ToolChoice } from "../../../src/snippets/composed.ts";
import { ALL_APIS } from "../../../src/snippets/snippet.ts";
import { APIS, isApiName } from "../apis.ts";
import { forgetKey, getKey } from "../gateway.ts";
import { later } from "../late-parts.ts";
import { parseSchema, parseTools } from "../parse-fields.ts";
import type { Conversation } from "../conversation.ts";
import { forgetDefaults, keepDefaults, loadDefaults } from "../defaults.ts";
import { toLabel } from "../gateway-tools.ts";
import { PERSON_SCHEMA, WEATHER_TOOL } from "./option-samples.ts";
import { change, state, update } from "../state.ts";
import { refreshStatus } from "../status.ts";
import { area, line, selectField } from "./fields.ts";

export function optionsPane(): TemplateResult {
  const { current } = state;
  return html`<div class="settings">
    <p class="quiet">Of this chat. Empty fields are not sent: the gateway decides.</p>
    <section>
      ${area("System prompt", "system", 3, current.system, (system) => change({ system }))}
    </section>
    <section>
      <h3>Tools</h3>
      ${toolFields(current)}
    </section>
    <section>
      <h3>Answer</h3>
      ${formatFields(current)}
    </section>
    <section>
      <h3>New chats</h3>
      ${defaultsFields(current)}
    </section>
    ${getKey() === "" ? nothing : keyFields()}
    <section>
      <h3>API</h3>
      ${selectField(
        "API",
        "api",
        ALL_APIS.map((name) => [name, APIS[name].label]),
        current.api,
        (api) => isApiName(api) && change({ api }),
      )}
    </section>
    <details>
      <summary>More</summary>
      <section>
        <div class="grid">${numbers()}</div>
        <p class="row">
          <button
            type="button"
            class="small"
            @click=${async () => (await later.load()).exportOpenChatML()}
          >
            Export as OpenChatML
          </button>
        </p>
      </section>
    </details>
  </div>`;
}

function keyFields(): TemplateResult {
  return html`<section>
    <h3>Key</h3>
    <p class="row">
      <button type="button" class="small" @click=${() => update({ keyProblem: "" })}>
        Change …
      </button>
      <button
        type="button"
        class="small"
        @click=${() => {
          forgetKey();
          void refreshStatus();
        }}
      >
        Forget
      </button>
    </p>
  </section>`;
}

function defaultsFields(current: Conversation): TemplateResult {
  return html`<p class="row">
    <button type="button" class="small" @click=${() => update({ notice: keepDefaults(current) })}>
      Begin with these
    </button>
    ${
      loadDefaults() === undefined
        ? html`<span class="quiet">System prompt, effort and tools</span>`
        : html`<button
            type="button"
            class="small"
            @click=${() => {
              forgetDefaults();
              update({});
            }}
          >
            Begin empty
          </button>`
    }
  </p>`;
}

function toolFields({ tools, options, gatewayTools = [] }: Conversation): TemplateResult {
  return html`
    ${(state.status?.gatewayTools ?? []).map(
      (name) =>
        html`<label class="tick">
          <input
            type="checkbox"
            .checked=${live(gatewayTools.includes(name))}
            @change=${() => toggle(gatewayTools, name)}
          />
          ${toLabel(name)}
        </label>`,
    )}
    ${area("Functions, as JSON", "tools", tools === "" ? 3 : 10, tools, (given) => change({ tools: given }), "One function or a list, as JSON, in the shape of any of the three APIs")}
    ${problemOf(() => parseTools(tools))}
    <p class="row">
      <button type="button" class="small" @click=${() => change({ tools: WEATHER_TOOL })}>
        Sample: get_weather
      </button>
      ${tools === "" ? nothing : html`<button type="button" class="small" @click=${() => change({ tools: "" })}>Clear</button>`}
    </p>
    <div class="grid">
      ${selectField(
        "Tool choice",
        "tool-choice",
        [
          ["", "default"],
          ["auto", "auto"],
          ["required", "required"],
          ["none", "none"],
          ...names(tools),
        ],
        toChoiceValue(options.toolChoice),
        (value) => setOption("toolChoice", readChoice(value)),
      )}
      ${selectField(
        "Parallel calls",
        "parallel-calls",
        [
          ["", "default"],
          ["true", "yes"],
          ["false", "no"],
        ],
        options.parallelCalls === undefined ? "" : String(options.parallelCalls),
        (value) => setOption("parallelCalls", value === "" ? undefined : value === "true"),
      )}
    </div>
  `;
}

function toggle(chosen: readonly string[], name: string): void {
  const others = chosen.filter((each) => each !== name);
  change({ gatewayTools: chosen.includes(name) ? others : [...others, name] });
}

function names(tools: string): [string, string][] {
  try {
    return parseTools(tools).tools.map(({ name }) => [`tool:${name}`, `only ${name}`]);
  } catch {
    return [];
  }
}

function toChoiceValue(choice: ToolChoice | undefined): string {
  return typeof choice === "object" ? `tool:${choice.name}` : (choice ?? "");
}

function readChoice(value: string): ToolChoice | undefined {
  if (value.startsWith("tool:")) return { name: value.slice("tool:".length) };
  return value === "auto" || value === "required" || value === "none" ? value : undefined;
}

function formatFields({ format, schema }: Conversation): TemplateResult {
  return html`
    ${selectField(
      "Response format",
      "format",
      [
        ["", "text"],
        ["object", "a JSON object"],
        ["schema", "JSON by a schema"],
      ],
      format,
      (value) =>
        change({
          format: value === "object" || value === "schema" ? value : "",
          ...(value === "schema" && schema === "" && { schema: PERSON_SCHEMA }),
        }),
    )}
    ${
      format === "schema"
        ? html`${area("JSON Schema", "schema", 10, schema, (given) => change({ schema: given }))}
          ${problemOf(() => parseSchema(schema))}`
        : nothing
    }
  `;
}

type NumberOption = "temperature" | "topP" | "maxTokens" | "seed" | "budget";

const NUMBERS: readonly (readonly [NumberOption, label: string, placeholder: string])[] = [
  ["temperature", "Temperature", "1"],
  ["topP", "Top p", "1"],
  ["maxTokens", "Max tokens", "no limit"],
  ["budget", "Reasoning budget", "tokens"],
  ["seed", "Seed", ""],
];

/** Fields in which a comma is a decimal separator, and not one of thousands. */
const DECIMALS = new Set<NumberOption>(["temperature", "topP"]);

function numbers(): TemplateResult {
  const { options } = state.current;
  return html`${NUMBERS.map(([name, label, placeholder]) =>
    line(
      label,
      name,
      options[name] === undefined ? "" : String(options[name]),
      (value) => {
        const given = Number(DECIMALS.has(name) ? value.replace(",", ".") : value);
        setOption(name, value.trim() === "" || !Number.isFinite(given) ? undefined : given);
      },
      placeholder,
    ),
  )}
  ${line(
    "Stop",
    "stop",
    (options.stop ?? []).join(", "),
    (value) => {
      const stop = value
        .split(",")
        .map((each) => each.trim())
        .filter(Boolean);
      setOption("stop", stop.length === 0 ? undefined : stop);
    },
    "strings, by commas",
  )}`;
}

function setOption<Name extends keyof Conversation["options"]>(
  name: Name,
  value: Conversation["options"][Name] | undefined,
): void {
  const others = Object.entries(state.current.options).filter(([each]) => each !== name);
  const options = Object.fromEntries(others);
  change({ options: value === undefined ? options : { ...options, [name]: value } });
}

function problemOf(check: () => unknown): TemplateResult | typeof nothing {
  try {
    check();
    return nothing;
  } catch (error) {
    return html`<p class="problem" role="alert">${error instanceof Error ? error.message : ""}</p>`;
  }
}
