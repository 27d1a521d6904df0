import { expect, test } from "vitest";

import { readServerUrl, toPublicUrl } from "../../src/engines/server-url.ts";

test.each([
  ["http://host:8000", "http://host:8000"],
  ["http://host:8000/", "http://host:8000"],
  ["http://host:8000/v1", "http://host:8000"],
  ["https://host/v1/", "https://host"],
  // Only a version at the end is removed and added again.
  ["https://host/v1/openai", "https://host/v1/openai"],
  ["https://host/inference//", "https://host/inference"],
  ["https://host/?key=secret#part", "https://host"],
])("%s is requested below %s", (url, base) => {
  expect(readServerUrl(url)).toEqual({ base });
});

test("credentials become a header", () => {
  expect(readServerUrl("https://user:p%40ss@host:1/v1")).toEqual({
    base: "https://host:1",
    authorization: `Basic ${btoa("user:p@ss")}`,
  });
});

test.each(["", "host:8000", "ftp://host", "http://"])("%j is refused", (url) => {
  expect(() => readServerUrl(url)).toThrow(
    expect.objectContaining({
      kind: "unreachable",
      message: `"${url}" is not an http URL. Write it as http://host:port.`,
    }),
  );
});

test("the public form has no credentials and no query", () => {
  expect(toPublicUrl("https://user:secret@host/path?key=secret")).toBe("https://host/path");
  expect(toPublicUrl("https://host/")).toBe("https://host");
});
