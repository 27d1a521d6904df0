/**
 * Colours for code: comments, strings, numbers and the common words of most languages. A grammar for each language would be 25 KB
 * after gzip and could not run from a clone; these rules are correct for the code that the page generates.
 */
import { html, type TemplateResult } from "lit-html";

const WORDS =
  /^(?:and|as|async|await|break|case|catch|class|const|continue|def|default|do|elif|else|enum|except|export|extends|false|False|finally|fn|for|from|func|function|if|implements|import|in|interface|is|lambda|let|match|mut|new|None|nil|not|null|or|pass|private|pub|public|raise|return|self|static|struct|switch|this|throw|true|True|try|type|undefined|use|var|void|while|with|yield)$/;

const SLASHES = String.raw`\/\/.*|\/\*[\s\S]*?(?:\*\/|$)`;
const HASH = String.raw`(?<![\w$&])#.*`;
const REST = String.raw`|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|\u0060(?:\\.|[^\u0060\\])*\u0060?|\b\d[\w.]*\b|[A-Za-z_]\w*`;
const WITH_HASH = new Set(["bash", "sh", "shell", "python", "py", "toml", "yaml", "yml", "ruby"]);
/** Maximum characters with colours. */
const MAX_CHARACTERS = 60_000;

export function highlight(code: string, language: string): string | TemplateResult {
  if (code.length > MAX_CHARACTERS || language === "text") return code;
  const pattern = new RegExp(`(${WITH_HASH.has(language) ? HASH : SLASHES})${REST}`, "g");
  const pieces: (string | TemplateResult)[] = [];
  let plain = "";
  let end = 0;
  for (const match of code.matchAll(pattern)) {
    const [text, comment] = match;
    const kind = comment === undefined ? kindOf(text) : "comment";
    plain += code.slice(end, match.index);
    end = match.index + text.length;
    if (kind === "") {
      plain += text;
    } else {
      pieces.push(plain, html`<span class="hl-${kind}">${text}</span>`);
      plain = "";
    }
  }
  return html`${pieces}${plain + code.slice(end)}`;
}

function kindOf(text: string): "string" | "number" | "word" | "" {
  if (/^["'`]/.test(text)) return "string";
  if (/^\d/.test(text)) return "number";
  return WORDS.test(text) ? "word" : "";
}
