/** The playground: composes a request, sends it as a client would, and shows its turn. */
import { html, nothing, type TemplateResult } from "lit-html";
import { ask } from "./api.ts";
import { toGatewayUrl } from "./first-load.ts";
import { SAMPLES } from "./samples.ts";
import { SNIPPETS } from "./snippets.ts";
import { state, update } from "./store.ts";

interface Draft {
  text: string;
  model: string;
  effort: string;
  tools: string;
  toolChoice: string;
  format: string;
  stop: string;
  budget: string;
  key: string;
  isSending: boolean;
  problem: string;
  copied: string;
}

const draft: Draft = {
  text: SAMPLES[0]?.text ?? "",
  model: "",
  effort: "medium",
  tools: "",
  toolChoice: "auto",
  format: "",
  stop: "",
  budget: "",
  key: "",
  isSending: false,
  problem: "",
  copied: "",
};

const change = (changes: Partial<Draft>): void => {
  Object.assign(draft, changes);
  update({ pane: state.pane });
};

/** Rejects with the reason if a field is not JSON. */
function toBody(): object {
  const tools = readJson(draft.tools, "Tools");
  const schema = readJson(draft.format, "Format");
  return {
    model: draft.model || (state.overview?.models[0] ?? "openai/gpt-oss-20b"),
    messages: [{ role: "user", content: draft.text }],
    reasoning_effort: draft.effort,
    ...(tools !== undefined && { tools, tool_choice: draft.toolChoice }),
    ...(schema !== undefined && {
      response_format: {
        type: "json_schema",
        json_schema: { name: "answer", strict: true, schema },
      },
    }),
    ...(draft.stop !== "" && { stop: [draft.stop] }),
    ...(draft.budget !== "" && { reasoning: { max_tokens: Number(draft.budget) } }),
    stream: true,
  };
}

function readJson(text: string, field: string): unknown {
  if (text.trim() === "") return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch (error) {
    throw new Error(`${field}: this is not JSON. ${error instanceof Error ? error.message : ""}`, {
      cause: error,
    });
  }
}

/** Sends a request; its turn is selected as soon as it is in the list. */
async function send(): Promise<void> {
  change({ isSending: true, problem: "" });
  const id = `inspect-${crypto.randomUUID()}`;
  wanted.add(id);
  try {
    await ask(`${toGatewayUrl()}/v1/chat/completions`, toBody(), draft.key, id);
  } catch (error) {
    change({ problem: error instanceof Error ? error.message : String(error) });
  } finally {
    change({ isSending: false });
  }
}

/** Ids of requests whose turns are to be selected. */
export const wanted = new Set<string>();

export async function sendSample(): Promise<void> {
  Object.assign(draft, SAMPLES[0]);
  await send();
}

export function playgroundPane(): TemplateResult {
  const models = state.overview?.models ?? [];
  return html`<section class="playground" aria-labelledby="playground-title">
    <h2 id="playground-title">Playground</h2>
    <div class="samples" role="group" aria-label="Samples">
      ${SAMPLES.map(
        (sample) =>
          html`<button type="button" class="plain" @click=${() => change(sample)}>
            ${sample.label}
          </button>`,
      )}
    </div>
    <form
      @submit=${(event: Event) => {
        event.preventDefault();
        void send();
      }}
    >
      ${area("Message", "text", 4)}
      <div class="fields">
        <label
          >Model
          <select @change=${onInput("model")}>
            ${models.map((model) => html`<option ?selected=${model === draft.model}>${model}</option>`)}
          </select>
        </label>
        ${choice("Effort", "effort", ["low", "medium", "high"])} ${line("Stop at", "stop", "text")}
        ${line("Reasoning budget", "budget", "number")}
        ${state.overview?.hasKeys ? line("Key", "key", "password") : nothing}
      </div>
      <details ?open=${draft.tools !== ""}>
        <summary>Tools</summary>
        ${area("Functions, as JSON", "tools", 8)}
        ${choice("Tool choice", "toolChoice", ["auto", "required", "none"])}
      </details>
      <details ?open=${draft.format !== ""}>
        <summary>Format</summary>
        ${area("JSON Schema of the answer", "format", 8)}
      </details>
      ${draft.problem === "" ? nothing : html`<p class="problem" role="alert">${draft.problem}</p>`}
      <div class="actions">
        <button type="submit" class="primary" ?disabled=${draft.isSending}>
          ${draft.isSending ? "Sending…" : "Send"}
        </button>
        <span class="copy" role="group" aria-label="Copy as">
          Copy as
          ${SNIPPETS.map(
            ({ label, make }) =>
              html`<button type="button" class="plain" @click=${() => copy(label, make)}>
                ${draft.copied === label ? "copied" : label}
              </button>`,
          )}
        </span>
      </div>
    </form>
  </section>`;
}

async function copy(label: string, make: (body: object, origin: string) => string): Promise<void> {
  try {
    await navigator.clipboard.writeText(make(toBody(), toGatewayUrl()));
    change({ copied: label, problem: "" });
  } catch (error) {
    change({ problem: error instanceof Error ? error.message : String(error) });
  }
}

type TextField =
  | "text"
  | "model"
  | "effort"
  | "tools"
  | "toolChoice"
  | "format"
  | "stop"
  | "budget"
  | "key";

function onInput(field: TextField): (event: Event) => void {
  return ({ target }) => {
    const isField =
      target instanceof HTMLInputElement ||
      target instanceof HTMLTextAreaElement ||
      target instanceof HTMLSelectElement;
    if (isField) change({ [field]: target.value });
  };
}

function area(label: string, field: TextField, rows: number): TemplateResult {
  return html`<label class="wide"
    >${label}
    <textarea
      rows=${rows}
      spellcheck="false"
      .value=${draft[field]}
      @input=${onInput(field)}
    ></textarea>
  </label>`;
}

function line(label: string, field: TextField, type: string): TemplateResult {
  return html`<label
    >${label}
    <input
      type=${type}
      min="0"
      autocomplete="off"
      .value=${draft[field]}
      @input=${onInput(field)}
    />
  </label>`;
}

function choice(label: string, field: TextField, options: readonly string[]): TemplateResult {
  return html`<label
    >${label}
    <select @change=${onInput(field)}>
      ${options.map((each) => html`<option ?selected=${each === draft[field]}>${each}</option>`)}
    </select>
  </label>`;
}
