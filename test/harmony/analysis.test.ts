import { describe, expect, test } from "vitest";
import {
  createRenderer,
  dropAnalysisLikeReference,
  dropFinishedAnalysis,
  type Message,
} from "../../src/harmony/index.ts";

/** One letter per message; a digit after it distinguishes messages of one kind. */
const KINDS: Readonly<Record<string, Message>> = {
  s: { role: "system", content: "s" },
  d: { role: "developer", content: "d" },
  u: { role: "user", content: "u" },
  a: { role: "assistant", channel: "analysis", content: "a" },
  f: { role: "assistant", channel: "final", content: "f" },
  p: { role: "assistant", channel: "commentary", content: "p" },
  c: { role: "assistant", channel: "commentary", recipient: "functions.g", content: "{}" },
  t: { role: "tool", name: "functions.g", channel: "commentary", content: "t" },
  // Built-in tools are called, and answer, on analysis.
  b: { role: "assistant", channel: "analysis", recipient: "python", content: "1+1" },
  r: { role: "tool", name: "python", channel: "analysis", content: "2" },
  // A final without text, an answer without a channel, and what other roles may carry.
  e: { role: "assistant", channel: "final", content: "" },
  n: { role: "assistant", content: "n" },
  x: { role: "user", channel: "final", content: "x" },
  y: { role: "user", channel: "analysis", content: "y" },
  z: { role: "assistant", channel: "final", recipient: "functions.g", content: "{}" },
  w: { role: "assistant", channel: "Analysis", content: "w" },
};

function toMessages(letters: string): Message[] {
  return letters.split(" ").flatMap((letter) => KINDS[letter] ?? []);
}

function toLetters(messages: readonly Message[]): string {
  const letters = new Map(Object.entries(KINDS).map(([letter, message]) => [message, letter]));
  return messages.map((message) => letters.get(message)).join(" ");
}

describe("dropping the analysis of finished turns", () => {
  test.each([
    // The input, the kept messages, and the reason.
    ["u", "u", "no analysis"],
    ["u a", "u a", "the turn has only begun"],
    ["u a f", "u f", "the answer finishes the turn, even before the user replies"],
    ["u a f u", "u f u", "the ordinary second turn"],
    ["u a f u a", "u f u a", "the running turn keeps its analysis"],
    ["u a f u a f u", "u f u f u", "both turns are finished"],
    ["u a f u a f u a f u", "u f u f u f u", "all turns are finished"],
    ["s d u a f u", "s d u f u", "the opening messages stay"],
    ["u a c t", "u a c t", "a call waits for what the model makes of its result"],
    ["u a c t a c t", "u a c t a c t", "a second round of the same loop"],
    ["u a c t a c t a c t", "u a c t a c t a c t", "a third one"],
    ["u a c t a f", "u c t f", "the answer ends the loop; calls and results stay"],
    ["u a c t a f u", "u c t f u", "the same with the next question"],
    ["u a f u a c t", "u f u a c t", "a loop in the second turn keeps only its own analysis"],
    ["u a f u a c t a c t", "u f u a c t a c t", "the second loop in its second round"],
    ["u a c t a f u a c t", "u c t f u a c t", "two loops, the first one finished"],
    ["u a c c t t", "u a c c t t", "parallel calls share one analysis message"],
    ["u a c c t t a f u", "u c c t t f u", "parallel calls of a finished turn"],
    ["u a p c t", "u a p c t", "a preamble finishes nothing"],
    ["u a p a c t a f u", "u p c t f u", "a preamble is shown to the user and stays"],
    ["u a f u a p", "u f u a p", "a preamble at the end"],
    ["u a e u", "u e u", "a final without text is a final"],
    ["u a e", "u e", "and ends the turn at once"],
    ["u a n u", "u a n u", "an answer without channel is not on final"],
    ["u a n u a f u", "u n u f u", "until a later final closes both turns"],
    ["u a f u a n u", "u f u a n u", "only what stands before the last final goes"],
    ["d u a f d u a c t", "d u f d u a c t", "several developer messages stay in place"],
    ["u a d a f u", "u d f u", "a developer message amid the analysis"],
    ["u a f d u", "u f d u", "and one between the turns"],
    ["u a a f u", "u f u", "several analysis messages in a row"],
    ["u a f a u", "u f a u", "analysis after the last answer is not before another one"],
    ["u a f a f u", "u f f u", "two answers in one turn"],
    ["u b r a f u", "u f u", "calls of built-in tools and their results are analysis too"],
    ["u a b r a", "u a b r a", "unless their turn is running"],
    ["u a x u", "u a x u", "a user on final answers nothing"],
    ["u y a f u", "u f u", "whoever wrote it, analysis is analysis"],
    ["u a z t", "u z t", "a call on final counts as final: only role and channel do"],
    ["u w f u", "u w f u", "channels are compared exactly"],
    ["u a f f", "u f f", "a prefill kept as an open final finishes the turn like any other"],
    ["f u a", "f u a", "a history that was cut off in front"],
    ["a f u a", "f u a", "or in the middle of a turn"],
  ])("%s becomes %s: %s", (given, kept) => {
    expect(toLetters(dropFinishedAnalysis(toMessages(given)).kept)).toBe(kept);
  });

  test("an empty conversation stays empty", () => {
    expect(dropFinishedAnalysis([])).toEqual({ kept: [], dropped: [] });
  });

  test("reports what was dropped, its position and which answer finished its turn", () => {
    const analysis: Message = { role: "assistant", channel: "analysis", content: "first" };
    const second: Message = { role: "assistant", channel: "analysis", content: "second" };
    const messages = [
      ...toMessages("u"),
      analysis,
      ...toMessages("f u"),
      second,
      ...toMessages("f u a"),
    ];
    expect(dropFinishedAnalysis(messages).dropped).toEqual([
      { message: analysis, index: 1, finishedBy: 2 },
      { message: second, index: 4, finishedBy: 5 },
    ]);
  });

  test("does not modify its input", () => {
    const messages = Object.freeze(toMessages("u a f u a c t"));
    const before = [...messages];
    dropFinishedAnalysis(messages);
    expect(messages).toEqual(before);
  });
});

describe("the reference library's own rule", () => {
  test.each([
    ["u a f u", "u f u", "the ordinary second turn"],
    ["u a f u a f u", "u f u a f u", "the second analysis message is not before the first final"],
    ["u a c t", "u a c t", "the last assistant message is a call"],
    ["u a f u a c t", "u a f u a c t", "then even the finished first turn keeps its analysis"],
    ["u a c t a f u", "u c t f u", "a loop that ended"],
    ["u a f u a p", "u a f u a p", "a preamble is not final"],
    ["u a n u", "u a n u", "nor is an answer without channel"],
    ["x a f u", "x a f u", "the first final is the user's"],
    ["u a f a u", "u a f a u", "the last assistant message is the second analysis message"],
    ["u y b r f", "u f", "every role and recipient on analysis"],
    ["u", "u", "nothing was answered"],
  ])("%s becomes %s: %s", (given, kept) => {
    expect(toLetters(dropAnalysisLikeReference(toMessages(given)))).toBe(kept);
  });
});

describe("prompts of successive turns", () => {
  const renderer = createRenderer();
  const prompt = (letters: string) =>
    renderer.renderCompletion({ messages: dropFinishedAnalysis(toMessages(letters)).kept }).ids;

  test("the same history gives the same ids", () => {
    const letters = "s d u a p c t a c t a f u a c t";
    expect(
      createRenderer().renderCompletion({
        messages: dropFinishedAnalysis(toMessages(letters)).kept,
      }).ids,
    ).toEqual(prompt(letters));
  });

  test.each([
    // Engines keep what they computed for a prompt and use it for longer ones.
    ["u", "u a c t", "the first result of a loop"],
    ["u a c t", "u a c t a c t", "the second one"],
    ["u a c t a c t", "u a c t a c t a c t", "the third one"],
    ["u", "u a c c t t", "parallel calls"],
    ["u", "u a p c t", "a call after a preamble"],
    ["u a f u", "u a f u a c t", "a loop in a later turn"],
    ["u", "u f u", "an answer without analysis"],
    ["u a f u", "u a f u f u", "and a second one"],
    ["u b r", "u b r a c t", "after a built-in tool"],
  ])("%s is continued by %s: %s", (earlier, later) => {
    const ids = prompt(earlier);
    expect(prompt(later).slice(0, ids.length)).toEqual(ids);
  });

  test("an answer changes the prompt only from the first analysis of its turn on", () => {
    const running = prompt("s d u f u a c t");
    const finished = prompt("s d u f u a c t a f u");
    const shared = prompt("s d u f u").length;
    expect(finished.slice(0, shared)).toEqual(running.slice(0, shared));
    expect(finished.slice(0, running.length)).not.toEqual(running);
  });
});
