/**
 * Calls the tools that gpt-oss was trained with, if the system message offers them: for a question about a search the engine
 * searches, opens the first result, and cites it in the answer; for code or a calculation it runs some code.
 */
import type { DemoPrompt } from "./prompt.ts";

/** A call of the demo engine. */
export interface TrainedCall {
  /** `browser.search`, `python` */
  readonly recipient: string;
  readonly body: string;
}

/** The next call. Undefined: no call is left, or the prompt needs none. */
export function nextTrainedCall({
  question,
  namespaces,
  calls,
}: DemoPrompt): TrainedCall | undefined {
  const done = new Set(calls.map(({ tool }) => tool));
  if (namespaces.includes("browser") && asksForSearch(question)) {
    if (!done.has("browser.search")) {
      return { recipient: "browser.search", body: JSON.stringify({ query: toQuery(question) }) };
    }
    const found = calls.find(({ tool }) => tool === "browser.search")?.result ?? "";
    if (!done.has("browser.open") && found.includes("【0†")) {
      return { recipient: "browser.open", body: '{"cursor":0,"id":0}' };
    }
  }
  if (namespaces.includes("python") && asksForCode(question) && !done.has("python")) {
    return { recipient: "python", body: toCode(question) };
  }
  return undefined;
}

/** An answer from the results of the calls, citing the page that was opened. Undefined if no such tool was called. */
export function trainedAnswer({ calls }: DemoPrompt): string | undefined {
  const opened = calls.find(({ tool }) => tool === "browser.open")?.result;
  const printed = calls.find(({ tool }) => tool === "python")?.result;
  const parts = [
    opened === undefined ? undefined : cite(opened),
    printed === undefined ? undefined : `The code printed:\n\n\`\`\`\n${printed.trim()}\n\`\`\``,
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.join("\n\n");
}

function asksForSearch(question: string): boolean {
  return /\b(?:search|web|browse|look up|find out|internet|sources?)\b/i.test(question);
}

function asksForCode(question: string): boolean {
  return /\b(?:python|code|calculate|compute)\b/i.test(question);
}

function toQuery(question: string): string {
  const words = question
    .replace(
      /\b(?:search(?: the web)?|browse|look up|find out|please|for|the web|internet)\b/gi,
      " ",
    )
    .replace(/\s+/g, " ")
    .replace(/^[\s:,;]+/, "")
    .trim();
  return (words === "" ? question : words).slice(0, 100);
}

/** An arithmetic expression of the question, if there is one. */
function toCode(question: string): string {
  const expression = /\d[\d\s.+*/()-]*[+*/-][\d\s.+*/()-]*\d/.exec(question)?.[0].trim();
  return `print(${expression ?? "sum(range(1, 11))"})`;
}

/** The first sentence of a page, with its position as a citation. */
function cite(display: string): string | undefined {
  const cursor = /^\[(\d+)\]/.exec(display)?.[1];
  const lines = Array.from(display.matchAll(/^L(\d+): (.*)$/gm), ([, line = "", text = ""]) => ({
    line,
    text,
  }));
  const first = lines.find(({ text }) => /^\p{L}/u.test(text) && !text.startsWith("URL:"));
  if (cursor === undefined || first === undefined) return undefined;
  return `I read: “${first.text.trim()}”【${cursor}†L${first.line}】`;
}
