import { expect, test } from "vitest";
import { CloseStack } from "../../../src/node/server/serve.ts";

test("the resource opened last is closed first, and each after the previous one has closed", async () => {
  const closed: string[] = [];
  const stack = new CloseStack();
  stack.use({ close: () => closed.push("store") });
  stack.defer(async () => {
    await Promise.resolve();
    closed.push("port");
  });
  await stack.close();
  expect(closed).toEqual(["port", "store"]);
});

test("a failure does not keep the others open, and the first one is reported", async () => {
  const closed: string[] = [];
  const stack = new CloseStack();
  stack.defer(() => Promise.reject(new Error("the store does not close")));
  stack.defer(() => closed.push("tools"));
  stack.defer(() => {
    throw new Error("the port does not close");
  });
  await expect(stack.close()).rejects.toThrow(/^the port does not close$/);
  expect(closed).toEqual(["tools"]);
});

test("nothing is closed twice", async () => {
  const closed: string[] = [];
  const stack = new CloseStack();
  stack.defer(() => closed.push("port"));
  await Promise.all([stack.close(), stack.close()]);
  expect(closed).toEqual(["port"]);
});
