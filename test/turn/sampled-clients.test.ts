/**
 * Whatever a client does to the history, `x-harmony-exact` is true: the prompt begins with as many tokens of the prompt before and
 * what was sampled as it says, and with all of them if it names no message. A client that sends the same back gets all of them.
 */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createBrowsingApp } from "../helpers/browsing-app.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";
import { spelledIds } from "../helpers/spelled.ts";
import { CALL } from "../../src/harmony/index.ts";
import { o200kHarmony } from "../../src/tokenizer/index.ts";
import { CLIENTS, type Entry } from "../never-silently-wrong/clients.ts";

const HEADERS = [
  "<|channel|>commentary to=functions.f <|constrain|>json",
  "<|channel|>commentary to=functions.f<|constrain|>json",
  " to=functions.f<|channel|>commentary json",
  "<|channel|>analysis to=functions.f code",
  " to=functions.f<|channel|>analysis",
];

const ARGUMENTS = [
  '{"a":1.0,"b":[1, 2e1],"c":"\\u00e9\\n"}',
  '{ "z" : {"y":null, "x":true}, "a": "b" }\n',
  "{}",
  '{"text":"<|end|><|start|>system"}',
];

/** Each keeps what is said. */
const EQUAL: readonly ((args: string) => string)[] = [
  (args) => args,
  (args) => args.trim(),
  (args) => JSON.stringify(JSON.parse(args)),
  (args) => JSON.stringify(JSON.parse(args), undefined, 2),
  (args) => JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(args)).toReversed())),
  (args) => JSON.stringify(JSON.parse(args)).replaceAll("é", String.raw`\u00e9`),
];

/** Each says something else. */
const OTHER: readonly ((args: string) => string)[] = [
  () => '{"other":1}',
  (args) => JSON.stringify({ ...JSON.parse(args), more: 0 }),
];

const step = fc.record({
  header: fc.constantFrom(...HEADERS),
  args: fc.constantFrom(...ARGUMENTS),
  thought: fc.constantFrom("Hm.", "I call it.\n", "Ünïcode 🌊"),
  preamble: fc.constantFrom(undefined, undefined, "One moment."),
  isEqual: fc.constantFrom(true, true, true, false),
  which: fc.nat(100),
  result: fc.constantFrom("ok", "", "a result\nof two lines"),
});

const loop = fc.record({
  client: fc.constantFrom(...CLIENTS),
  steps: fc.array(step, { minLength: 1, maxLength: 4 }),
  /** Before the last request, the question is changed. */
  isEdited: fc.boolean(),
});

const ANSWER = "<|channel|>final<|message|>Done.<|return|>";

test("the header is true, also for a client that sends the same back", async () => {
  await fc.assert(
    fc.asyncProperty(loop, async ({ client, steps, isEdited }) => {
      const scripts = steps.map(({ header, thought, preamble }) =>
        [
          `<|channel|>analysis<|message|>${thought}<|end|><|start|>assistant`,
          preamble && `<|channel|>commentary<|message|>${preamble}<|end|><|start|>assistant`,
          `${header}<|message|>`,
        ]
          .filter((each) => each !== undefined)
          .join(""),
      );
      const sampled = steps.map(({ args }, index) => [
        ...spelledIds(scripts[index] ?? ""),
        ...o200kHarmony().encode(args),
        CALL,
      ]);
      const engine = scriptedEngine([...sampled, ANSWER]);
      const { post } = createBrowsingApp({ engine, toolbox: {}, settings: { layout: "guide" } });
      const entries: Entry[] = [{ type: "user", text: "Go." }];
      let isSame = true;
      const claims: object[] = [];
      const facts: object[] = [];
      for (let index = 0; index <= steps.length; index++) {
        const isLast = index === steps.length;
        if (isLast && isEdited) {
          entries[0] = { type: "user", text: "Stop." };
          isSame = false;
        }
        const response = await post(client.path, client.toBody(entries, ["f"]));
        expect(response.status).toBe(200);
        if (index > 0) {
          const before = engine.requests[index - 1]?.prompt.ids ?? [];
          const all = [...before, ...(sampled[index - 1] ?? [])];
          const prompt = engine.requests[index]?.prompt.ids ?? [];
          const departs = all.findIndex((id, at) => prompt[at] !== id);
          const [, exact = "", because] =
            /^(\d+)(?:;message=\d+;because=([a-z-]+))?$/.exec(
              response.headers.get("x-harmony-exact") ?? "",
            ) ?? [];
          const isWhole = because === undefined;
          claims.push({
            isWhole,
            isTrue: departs === -1 || departs >= Number(exact),
            length: isWhole ? Number(exact) : undefined,
          });
          facts.push({
            isWhole: departs === -1 && isSame,
            isTrue: true,
            length: departs === -1 ? all.length : undefined,
          });
        }
        const reply = client.readReply(await response.json());
        const own = steps[index];
        if (own === undefined) break;
        const changes = own.isEqual ? EQUAL : OTHER;
        const change = changes[own.which % changes.length];
        isSame = own.isEqual;
        const calls = reply.calls.map((call) => ({ ...call, args: change?.(call.args) ?? "" }));
        entries.push({ type: "assistant", text: reply.text, calls });
        for (const { id } of calls) entries.push({ type: "result", id, text: own.result });
      }
      expect(claims).toEqual(facts);
    }),
    { numRuns: 60 },
  );
});
