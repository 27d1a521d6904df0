/** Calls in a real run, four of which have a broken header; see `test/harmony/swe-tape.test.ts` for the parser alone. */
import { expect, test } from "vitest";
import { createBrowsingApp } from "../helpers/browsing-app.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";
import { readTape } from "../helpers/swe-tape.ts";
import { CLIENTS } from "./clients.ts";

const turns = readTape();
const QUESTION = { type: "user", text: "Fix it." } as const;

test.each(CLIENTS)("$name: each call of a real run is the client's", async (client) => {
  for (const form of ["ids", "text"] as const) {
    const engine = scriptedEngine(
      turns.map(({ response }) => response),
      { form },
    );
    const { post } = createBrowsingApp({ engine, toolbox: {} });
    for (const { turn, tools, expected, also_ok: alsoOk = [] } of turns) {
      const response = await post(client.path, client.toBody([QUESTION], tools));
      const { text, reasoning, calls } = client.readReply(await response.json());
      const names = [expected, ...alsoOk].map(({ call }) => call?.recipient);
      const [call] = calls;
      expect(names, `turn ${turn}`).toContain(call?.name);
      expect(JSON.parse(call?.args ?? "null")).toEqual(
        JSON.parse(expected.call?.arguments ?? "null"),
      );
      expect([reasoning.trim(), text.trim()]).toEqual([
        expected.reasoning?.trim(),
        expected.final ?? "",
      ]);
    }
  }
});

test.each(CLIENTS)("$name: without tools, arguments are no answer", async (client) => {
  const call = '<|channel|>analysis to=repo_browser.print_tree code<|message|>{"path":""}<|call|>';
  const engine = scriptedEngine([call, "<|channel|>final<|message|>Done.<|return|>"]);
  const { post } = createBrowsingApp({ engine, toolbox: {} });
  const response = await post(client.path, client.toBody([QUESTION]));
  expect(client.readReply(await response.json())).toMatchObject({ text: "Done.", calls: [] });
});
