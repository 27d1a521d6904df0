import { expect, test } from "vitest";
import { SettingsError } from "../../../src/index.ts";
import { parseRedisUrl } from "../../../src/node/redis/address.ts";

const PLAIN = {
  host: "cache",
  port: 6379,
  tls: false,
  username: "",
  password: "",
  database: "",
  publicUrl: "redis://cache",
};

test.each([
  ["redis://cache", PLAIN],
  ["redis://cache/", PLAIN],
  ["redis://cache:7000", { ...PLAIN, port: 7000, publicUrl: "redis://cache:7000" }],
  ["redis://cache/2", { ...PLAIN, database: "2" }],
  ["redis://[::1]:7000", { ...PLAIN, host: "::1", port: 7000, publicUrl: "redis://[::1]:7000" }],
  ["redis://:p%40ss@cache", { ...PLAIN, password: "p@ss" }],
  [
    "rediss://alice:secret@cache",
    { ...PLAIN, tls: true, username: "alice", password: "secret", publicUrl: "rediss://cache" },
  ],
])("%s", (url, address) => {
  expect(parseRedisUrl(url)).toEqual(address);
});

const FORM = "store redis: the URL is not valid. Its form is redis://user:password@host:6379/0.";

test.each([
  ["redis://", FORM],
  ["redis:///1", FORM],
  ["redis://cache:99999", FORM],
  ["redis://:%zz@cache", FORM],
  [
    "redis://cache?db=1",
    "store redis: parameters after a question mark are not supported. A database is chosen by the path: redis://host:6379/1.",
  ],
  [
    "redis://cache/one",
    "store redis: the path of the URL must be the number of a database: redis://host:6379/1.",
  ],
])("%s is refused", (url, problem) => {
  expect(() => parseRedisUrl(url)).toThrow(new SettingsError([problem]));
});
