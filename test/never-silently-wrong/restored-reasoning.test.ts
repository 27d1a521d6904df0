/** Until it answers, the model reads its own reasoning, on each API, plain and streamed, whatever the client sends back. */
import { hash } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { ObservedChoice } from "../../proof/fuzz/turns/apis.ts";
import { lazyGateway } from "../helpers/gateway.ts";
import { type Script, scriptedEngine } from "../helpers/scripted-engine.ts";
import { analysisIn, loopScripts } from "../helpers/tool-loop.ts";
import { type Entry, type Form, FORMS } from "./clients.ts";

/** The analysis in each prompt of a loop of three calls, and of a second one. */
const FIRST = [[], ["one 1"], ["one 1", "one 2"], ["one 1", "one 2", "one 3"]];
const SECOND = [[], ["two 1"], ["two 1", "two 2"], ["two 1", "two 2", "two 3"]];
const GO: Entry = { type: "user", text: "Go." };
const NEXT = "<|end|><|start|>assistant";
const ANSWER = "<|channel|>final<|message|>Done.<|return|>";

/** Converts a reply to the client's copy of it. */
type Remember = (reply: ObservedChoice, step: number) => Entry;

const everything: Remember = ({ reasoning, content, calls }) => ({
  type: "assistant",
  ...(reasoning !== "" && { reasoning }),
  ...(content !== "" && { text: content }),
  calls,
});
const forgetful: Remember = (reply) => everything({ ...reply, reasoning: "" }, 0);

function gatewayOf(form: Form, scripts: readonly Script[], settings: object = {}) {
  const engine = scriptedEngine(scripts);
  const gateway = lazyGateway({
    engine,
    settings: { layout: "reference", metrics: "open", ...settings },
  });
  const { client, stream, read } = form;
  async function send(entries: readonly Entry[], key = "none") {
    const response = await gateway.fetch(client.path, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
      body: JSON.stringify({ ...client.toBody(entries, ["step"]), stream }),
    });
    const [reply] = read(await response.text()).choices;
    if (reply === undefined) throw new Error("The reply has no choice.");
    return { reply, from: response.headers.get("x-harmony-cot") };
  }
  /** Sends requests and results of calls until there is an answer. The conversation grows. */
  async function runLoop(remember: Remember, entries: Entry[] = []) {
    entries.push(GO);
    const replies: ObservedChoice[] = [];
    const from: (string | null)[] = [];
    do {
      const sent = await send(entries);
      replies.push(sent.reply);
      from.push(sent.from);
      entries.push(remember(sent.reply, replies.length), ...resultsOf(sent.reply));
    } while (replies.at(-1)?.calls.length);
    return { entries, replies, from };
  }
  const analysis = () => engine.prompts.map((prompt) => analysisIn(prompt));
  return { engine, send, runLoop, analysis, counter: gateway.counter };
}

function resultsOf({ calls }: ObservedChoice): Entry[] {
  return calls.map(({ id }) => ({ type: "result", id, text: "ok" }));
}

const toAnalysis = (text: string) => `<|channel|>analysis<|message|>${text}`;
const toPreamble = (text: string) => `<|channel|>commentary<|message|>${text}`;
const toCall = (n: number) =>
  `<|channel|>commentary to=functions.step <|constrain|>json<|message|>{"n":${n}}`;

/** A message of the model in a later prompt. */
const toHistory = (message: string) =>
  `<|start|>assistant${message}${message.includes(" to=") ? "<|call|>" : "<|end|>"}`;

describe.each(FORMS)("$name", (form) => {
  test.each<[string, Remember, string[], object, string[][]]>([
    ["everything", everything, ["sent", "sent", "sent"], { sent: 1 + 2 + 3 }, FIRST],
    [
      "nothing but texts and calls",
      forgetful,
      ["stored", "stored", "stored"],
      { stored: 1 + 2 + 3 },
      FIRST,
    ],
    [
      "the reasoning of all steps but the second",
      (reply, step) => (step === 2 ? forgetful : everything)(reply, step),
      ["sent", "stored", "stored"],
      { sent: 4, stored: 2 },
      FIRST,
    ],
    [
      "reasoning of its own, which is never joined with the stored one",
      (reply, step) => everything({ ...reply, reasoning: "Edited." }, step),
      ["sent", "sent", "sent"],
      { sent: 1 + 2 + 3 },
      [[], ["Edited."], ["Edited.", "Edited."], ["Edited.", "Edited.", "Edited."]],
    ],
  ])("the client sends back %s", async (_, remember, sources, counts, prompts) => {
    const gateway = gatewayOf(form, loopScripts("one"));
    const { from } = await gateway.runLoop(remember);
    expect(gateway.analysis()).toEqual(prompts);
    expect(from).toEqual([null, ...sources]);
    for (const [outcome, count] of Object.entries(counts))
      expect(await gateway.counter(`reasoning_returned_total{outcome="${outcome}"}`)).toBe(count);
  });

  test.each([
    ["sends everything back", everything],
    ["sends no reasoning back", forgetful],
  ])("after the answer the model reads none of it: the client %s", async (_, remember) => {
    const gateway = gatewayOf(form, [...loopScripts("one"), ...loopScripts("two")]);
    const { entries } = await gateway.runLoop(remember);
    const { from } = await gateway.runLoop(remember, entries);
    expect(gateway.analysis()).toEqual([...FIRST, ...SECOND]);
    expect(from[0]).toBe(null);
  });

  test("a message of the user between calls is no answer", async () => {
    const gateway = gatewayOf(form, loopScripts("one"));
    const { reply } = await gateway.send([GO]);
    const hurry: Entry = { type: "user", text: "Hurry up." };
    await gateway.send([GO, forgetful(reply, 1), ...resultsOf(reply), hurry]);
    expect(gateway.analysis()).toEqual(FIRST.slice(0, 2));
  });

  test.each([
    ["before a call", [toAnalysis("One."), toAnalysis("Two."), toCall(1)]],
    [
      "around a preamble, and behind a call",
      [toAnalysis("One."), toPreamble("Wait."), toAnalysis("Two."), toCall(1), toAnalysis("3.")],
    ],
    ["behind a call alone", [toCall(1), toAnalysis("One.")]],
    ["before a second call", [toAnalysis("One."), toCall(1), toAnalysis("Two."), toCall(2)]],
  ])("stored reasoning returns to its place: %s", async (_, written) => {
    const end = written.at(-1)?.includes(" to=") ? "<|call|>" : "<|return|>";
    const gateway = gatewayOf(form, [written.join(NEXT) + end, ANSWER]);
    const { from } = await gateway.runLoop(forgetful);
    expect(from).toEqual([null, "stored"]);
    expect(gateway.engine.prompts[1]).toContain(
      `Go.<|end|>${written.map((message) => toHistory(message)).join("")}<|start|>functions.step`,
    );
  });

  test("stored reasoning returns before calls that were sampled one by one", async () => {
    const scripts = [`${toAnalysis("Both.")}${NEXT}${toCall(1)}<|call|>`, `${toCall(2)}<|call|>`];
    const gateway = gatewayOf(form, [...scripts, ANSWER, ANSWER], { sampleMoreCalls: true });
    const { from } = await gateway.runLoop(forgetful);
    expect(from).toEqual([null, "stored"]);
    expect(gateway.engine.prompts.at(-1)).toContain(
      [toAnalysis("Both."), toCall(1), toCall(2)].map((message) => toHistory(message)).join(""),
    );
  });

  test("none is returned and none is lost, if the policy returns none", async () => {
    const gateway = gatewayOf(form, loopScripts("one"), { reasoningPolicy: "none" });
    const { replies, from } = await gateway.runLoop(everything);
    expect(replies.map(({ reasoning }) => reasoning)).toEqual(["", "", "", ""]);
    expect(gateway.analysis()).toEqual(FIRST);
    expect(from).toEqual([null, "stored", "stored", "stored"]);
  });

  test("the reasoning of a call from elsewhere is lost, which is reported, and the request is answered", async () => {
    const gateway = gatewayOf(form, [ANSWER]);
    const call = { id: "call_elsewhere", name: "step", args: "{}" };
    const { reply, from } = await gateway.send([
      GO,
      { type: "assistant", calls: [call] },
      { type: "result", id: call.id, text: "ok" },
    ]);
    expect(reply.content).toBe("Done.");
    expect(from).toBe("lost");
    expect(await gateway.counter('reasoning_returned_total{outcome="lost"}')).toBe(1);
  });

  test("a call without reasoning has lost none", async () => {
    const gateway = gatewayOf(form, [`${toCall(1)}<|call|>`, ANSWER]);
    expect((await gateway.runLoop(forgetful)).from).toEqual([null, null]);
  });

  test("another key gets none of it by the id of a call", async () => {
    const keys = ["alice", "bob"].map((name) => `${name}:${hash("sha256", name)}`);
    const gateway = gatewayOf(form, [...loopScripts("one").slice(0, 1), ANSWER], { keys });
    const { reply } = await gateway.send([GO], "alice");
    const stolen = await gateway.send([GO, forgetful(reply, 1), ...resultsOf(reply)], "bob");
    expect(stolen.from).toBe("lost");
    expect(gateway.analysis()).toEqual([[], []]);
  });
});
