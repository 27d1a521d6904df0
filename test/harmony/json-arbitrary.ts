/** Random JSON values. Numbers have few digits, so that every parser reads the same value. */

import * as fc from "fast-check";
import { anyCharacter } from "../helpers/any-character.ts";

/** Few names, so that duplicates occur; some need escapes, and JavaScript would move some to the front of an object. */
export const memberName = fc.constantFrom("a", "b", 'q"', "\\", "é", "tools", "10", "2", "");

const scalar = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.integer(),
  fc.boolean(),
  fc.constantFrom(null, 0.5, -1.25e-7, 1e21),
);

export const jsonValue: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    scalar,
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(memberName, tie("value"), { maxKeys: 4 }),
  ),
})).value;
