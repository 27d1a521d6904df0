/** The gate, `.ci/run`, runs every test file; `npm test` leaves out what is slow. */
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import config from "../vitest.config.ts";

const FOREIGN = ["**/node_modules/**", "test/.cache/**"];

const projects = (config.test?.projects ?? []).flatMap((project) => {
  if (typeof project !== "object" || !("test" in project) || project.test === undefined) return [];
  const { name, include = [], exclude = [] } = project.test;
  return [{ name, files: globSync([...include], { exclude: [...FOREIGN, ...exclude] }) }];
});

test("every test file belongs to a project", () => {
  const all = globSync("**/*.test.ts", { exclude: FOREIGN });
  expect(all.length).toBeGreaterThan(400);
  const run = new Set(projects.flatMap(({ files }) => files));
  expect(all.filter((file) => !run.has(file))).toEqual([]);
});

test("a file is run twice only where the second runtime is workerd", () => {
  const files = projects.flatMap(({ name, files: own }) => (name === "workerd" ? [] : own));
  expect(files.filter((file, at) => files.indexOf(file) !== at)).toEqual([]);
});

test("the gate runs all projects", () => {
  expect(readFileSync(".ci/run", "utf8")).toMatch(/^step vitest run$/m);
});
