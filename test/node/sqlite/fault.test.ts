import { expect, test } from "vitest";
import { toFault } from "../../../src/node/sqlite/fault.ts";

function sqliteError(errcode: number): Error {
  return Object.assign(new Error("words of SQLite"), { errcode });
}

test.each([
  [3, "PERM", "this user may not read or write it", false],
  [5, "BUSY", "another program has locked it", true],
  [8, "READONLY", "it cannot be written", false],
  [10, "IOERR", "the disk reports an error", true],
  [11, "CORRUPT", "it is damaged", false],
  [13, "FULL", "there is no space left on its disk", true],
  [14, "CANTOPEN", "it cannot be opened, or its folder cannot be written", false],
  [18, "TOOBIG", "the value is larger than SQLite takes", false],
  [26, "NOTADB", "it is damaged, or no database", false],
  [99, "ERROR", "SQLite reports an error", false],
])("SQLite's code %i is %s", (errcode, code, message, mayPass) => {
  expect(toFault(sqliteError(errcode))).toEqual({ code, message, mayPass });
});

test("an extended code has the meaning of its primary code", () => {
  expect(toFault(sqliteError(0x30a))?.code).toBe("IOERR");
});

test("an error of another kind is none of SQLite's", () => {
  expect(toFault(new Error("disk"))).toBeUndefined();
});
