/** The texts of the demo engine. */
import type { DemoPrompt } from "./prompt.ts";

/** A text of reasoning that names its step, so that all texts of a turn differ. */
export function reasoningText(prompt: DemoPrompt, move: Move): string {
  const sentences = [...observation(prompt), decision(move)];
  if (prompt.effort === "low") return sentences.join(" ");
  sentences.push(memory(prompt));
  if (prompt.effort === "medium") return sentences.join(" ");
  return [...sentences, ...doubts(prompt, move)].join("\n");
}

/** Text of a preamble: before the first of several calls if the effort is high, and whenever a preamble is requested. */
export function preambleText(tools: readonly string[]): string {
  if (tools.length === 0) return "One moment, please.";
  const steps = tools.map((tool, index) => `${index + 1}. \`${tool}\``);
  return `This is my plan:\n\n${steps.join("\n")}`;
}

export function answerText(prompt: DemoPrompt, seed: number): string {
  const done = prompt.calls.filter(({ result }) => result !== undefined);
  if (done.length > 0) return summary(prompt, done);
  const greeting = GREETINGS[seed % GREETINGS.length] ?? "";
  const heard =
    prompt.question === ""
      ? "You have not said anything yet."
      : `You said (message ${prompt.userMessages}):\n\n${blockquote(shorten(prompt.question, 400))}`;
  return `${greeting} ${heard}\n\n${ABOUT}${toolHint(prompt)}`;
}

export function waitText(): string {
  return "I am waiting for the results ⏳";
}

const GREETINGS = ["Hello! 👋", "Hi there! 😊", "Good day! ☀️", "Olá! 🌍"];

const ABOUT =
  "I am the **demo engine**: a few rules instead of a model, so I never need a GPU, and the same " +
  "question always gets the same answer – naïve, but quick ⚡. " +
  "Connect a real engine and gpt-oss will answer here. 👩‍🚀";

function toolHint({ tools }: DemoPrompt): string {
  const [tool] = tools;
  if (tool === undefined) return "";
  return `\n\nMention a tool, for instance \`${tool.name}\`, and I will call it.`;
}

function observation(prompt: DemoPrompt): string[] {
  const last = prompt.calls.findLast(({ result }) => result !== undefined);
  if (last?.result !== undefined) {
    return [`${last.tool} returned “${shorten(last.result, 80)}”.`];
  }
  return [
    prompt.question === ""
      ? "There is no message from the user."
      : `The user says “${shorten(prompt.question, 120)}”.`,
  ];
}

function decision(move: Move): string {
  if (move.type === "answer") return "I have everything I need to answer.";
  if (move.type === "wait") return "I should wait for the results.";
  const { tool, input, position } = move;
  return `Step ${position.number} of ${position.of}: I should call ${tool} with ${shorten(input, 120)}.`;
}

/** A sentence which shows that the prompt contained earlier reasoning. */
function memory({ calls, analysisCount, tools }: DemoPrompt): string {
  if (tools.length === 0) return "There is nothing to look up.";
  if (calls.length === 0) return "No tool has been called so far.";
  return `So far I have made ${plural(calls.length, "call")}, and I can read ${plural(analysisCount, "earlier analysis message")} of mine.`;
}

function doubts(prompt: DemoPrompt, move: Move): string[] {
  const offered = prompt.tools.map(({ name }) => name).join(", ");
  return [
    offered === "" ? "No tools are offered." : `Tools on offer: ${offered}.`,
    move.type === "call"
      ? "The arguments must fit the signature, so let me check them once more – they do."
      : "Is anything missing? No: nothing else was asked for.",
    "Good. 💡 That settles it.",
  ];
}

function summary(prompt: DemoPrompt, done: DemoPrompt["calls"]): string {
  const lines = done.map(
    ({ tool, input, result }) =>
      `- **${tool}** \`${shorten(input, 120)}\` → ${shorten(result ?? "", 300)}`,
  );
  const asked = shorten(prompt.question, 120);
  return (
    `Done ✅ You asked “${asked}”. This is what ${done.length === 1 ? "the tool" : "the tools"} said:\n\n` +
    `${lines.join("\n")}\n\nWhile answering I could read ${plural(prompt.analysisCount, "analysis message")} of mine from this turn. 👩‍🚀`
  );
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function blockquote(text: string): string {
  return `> ${text.replaceAll("\n", "\n> ")}`;
}

function shorten(text: string, most: number): string {
  const line = text.trim();
  const letters = Array.from(line);
  return letters.length <= most ? line : `${letters.slice(0, most - 1).join("")}…`;
}

/** The next step of the demo engine. */
export type Move =
  | {
      readonly type: "call";
      readonly tool: string;
      readonly input: string;
      readonly position: CallPosition;
    }
  | { readonly type: "answer" }
  /** All calls are written, but have no results yet. */
  | { readonly type: "wait" };

/** The `number`th call of `of`, counted from 1. */
interface CallPosition {
  readonly number: number;
  readonly of: number;
}
