import { expect, test } from "vitest";

import { Circuit } from "../../src/engines/circuit.ts";

const OPTIONS = { failures: 2, pauseMs: 100, maxPauseMs: 300 };

/** Fails one try at each of these moments. */
function failAt(circuit: Circuit, ...moments: readonly number[]): void {
  for (const now of moments) {
    circuit.enter(now);
    circuit.fail(now);
  }
}

test("stays closed until enough failures in a row", () => {
  const circuit = new Circuit(OPTIONS);
  failAt(circuit, 0);
  expect(circuit.state(0)).toBe("closed");
  failAt(circuit, 1);
  expect([circuit.state(1), circuit.admits(1), circuit.waitMs(1)]).toEqual(["open", false, 100]);
});

test("a success in between starts the count again", () => {
  const circuit = new Circuit(OPTIONS);
  failAt(circuit, 0);
  circuit.succeed();
  failAt(circuit, 1);
  expect(circuit.state(1)).toBe("closed");
});

test("after the pause one try at a time goes through, and its success closes it", () => {
  const circuit = new Circuit(OPTIONS);
  failAt(circuit, 0, 0);
  expect([circuit.state(99), circuit.admits(99)]).toEqual(["open", false]);
  expect([circuit.state(100), circuit.admits(100)]).toEqual(["half-open", true]);
  circuit.enter(100);
  expect(circuit.admits(100)).toBe(false);
  circuit.succeed();
  expect([circuit.state(100), circuit.admits(100)]).toEqual(["closed", true]);
});

test("a try that shows nothing makes room for the next", () => {
  const circuit = new Circuit(OPTIONS);
  failAt(circuit, 0, 0);
  circuit.enter(100);
  circuit.leave();
  expect([circuit.state(100), circuit.admits(100)]).toEqual(["half-open", true]);
});

test("each failed try doubles the pause up to a limit, a success makes it short again", () => {
  const circuit = new Circuit(OPTIONS);
  failAt(circuit, 0, 0);
  failAt(circuit, 100);
  expect(circuit.waitMs(100)).toBe(200);
  failAt(circuit, 300);
  expect(circuit.waitMs(300)).toBe(300);
  failAt(circuit, 600);
  expect(circuit.waitMs(600)).toBe(300);
  circuit.enter(900);
  circuit.succeed();
  failAt(circuit, 900, 900);
  expect(circuit.waitMs(900)).toBe(100);
});

test("failures of what was under way when it opened do not lengthen the pause", () => {
  const circuit = new Circuit(OPTIONS);
  failAt(circuit, 0, 0);
  circuit.fail(50);
  circuit.fail(120);
  expect([circuit.state(120), circuit.waitMs(50)]).toEqual(["half-open", 50]);
});

test("is opened at once by who found nobody, and tried early by who found somebody", () => {
  const circuit = new Circuit(OPTIONS);
  circuit.open(0);
  expect(circuit.state(10)).toBe("open");
  circuit.allowTry(10);
  expect(circuit.state(10)).toBe("half-open");
});

test("allowing a try means nothing to a closed one", () => {
  const circuit = new Circuit(OPTIONS);
  circuit.allowTry(10);
  expect(circuit.state(10)).toBe("closed");
});
