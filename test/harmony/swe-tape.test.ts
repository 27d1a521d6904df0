/** The parser reads each turn of a real run, with the run's tools offered in either form. */
import { describe, expect, test } from "vitest";
import type { ParserOptions } from "../../src/harmony/index.ts";
import { spelledIds } from "../helpers/spelled.ts";
import { readTape, type TapeTurn } from "../helpers/swe-tape.ts";
import { cutAt, read, readIds, readText, toPieces } from "./parse-cases.ts";
import type { Reading } from "./parse-cases.ts";

const turns = readTape();
const tools = turns[0]?.tools ?? [];
const namespaces = Map.groupBy(tools, (name) => name.slice(0, name.indexOf(".")));

const OFFERS: readonly (readonly [string, ParserOptions])[] = [
  ["functions", { toolNames: tools }],
  [
    "namespaces of the system message",
    {
      systemTools: Array.from(namespaces, ([name, all]) => ({
        name,
        functions: all.map((each) => each.slice(name.length + 1)),
        rawBody: false,
      })),
    },
  ],
];

/** The turn in the form of the tape. */
function outcome({ parts }: Reading) {
  const textOf = (type: string) =>
    parts.flatMap((part) => (part.type === type && "text" in part ? [part.text.trim()] : []));
  const [call] = parts.flatMap((part) => (part.type === "tool_call" ? [part] : []));
  return {
    reasoning: textOf("reasoning").join("\n"),
    call: call === undefined ? null : [call.name, JSON.parse(call.arguments)],
    final: [...textOf("content"), ...textOf("commentary")].join("\n"),
  };
}

function expectations({ expected, also_ok: alsoOk = [] }: TapeTurn) {
  return [expected, ...alsoOk.map((other) => ({ ...expected, ...other }))].map(
    ({ reasoning, call, final }) => ({
      reasoning: (reasoning ?? "").trim(),
      call: call == null ? null : [call.recipient, JSON.parse(call.arguments)],
      final: final ?? "",
    }),
  );
}

test("the run has forty turns, of which four calls have a broken header", () => {
  expect(turns).toHaveLength(40);
  expect(turns.filter(({ expected }) => expected.malformed !== null)).toHaveLength(4);
});

describe.each(OFFERS)("tools as %s", (_, options) => {
  test.each(turns)("turn $turn", (turn) => {
    const ids = spelledIds(turn.response);
    const places = [7, 91, 300, 12, 1000].map((place) => place * (turn.turn + 3));
    const readings = [
      readText(turn.response, "stop", options),
      readIds(ids, "stop", options),
      read({ form: "pieces", pushes: toPieces(ids).map((piece) => [piece]) }, "stop", options),
      read({ form: "ids", pushes: ids.map((id) => [id]) }, "stop", options),
      read({ form: "text", pushes: Array.from(turn.response) }, "stop", options),
      read({ form: "text", pushes: cutAt(turn.response, places) }, "stop", options),
    ];
    for (const reading of readings) expect(expectations(turn)).toContainEqual(outcome(reading));
  });
});

test("without tools in the request, no arguments are shown as an answer", () => {
  for (const turn of turns) {
    const { final } = outcome(readText(turn.response));
    expect(final, `turn ${turn.turn}`).toBe(turn.expected.final ?? "");
  }
});
