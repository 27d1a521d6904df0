import { expect, test } from "vitest";
import { explainListenError, ListenError } from "../../../src/node/server/listen-error.ts";

const alone = { host: "::1", port: 80, flag: "--port", reusePort: false };
const shared = { ...alone, reusePort: true };

const failed = (code: string) => Object.assign(new Error(`listen ${code}`), { code });

test.each([
  [
    "EADDRINUSE",
    alone,
    "port 80 of ::1 is in use by another program. Choose another port with --port.",
  ],
  [
    "EADDRINUSE",
    { ...alone, flag: "--metrics-port" },
    "port 80 of ::1 is in use by another program. Choose another port with --metrics-port.",
  ],
  [
    "EADDRINUSE",
    shared,
    "port 80 of ::1 is in use by a program that does not share it. Start each process with --reuse-port, as the same user, or choose another port with --port.",
  ],
  [
    "ENOTSUP",
    shared,
    "This system cannot share port 80 of ::1 between processes; Linux can. Start without --reuse-port, with a port for each process and a balancer in front.",
  ],
  [
    "EACCES",
    alone,
    "The gateway has no permission to listen on port 80 of ::1. Choose another port with --port.",
  ],
  ["ENOTFOUND", alone, "::1 is not an address of this machine. Choose another with --host."],
])("%s is explained", (code, target, message) => {
  const cause = failed(code);
  const error = explainListenError(cause, target);
  expect(error).toBeInstanceOf(ListenError);
  expect(error).toMatchObject({ message, cause });
});

test.each([
  ["EMFILE", alone],
  ["ENOTSUP", alone],
])("%s without an explanation stays as it is", (code, target) => {
  const cause = failed(code);
  expect(explainListenError(cause, target)).toBe(cause);
});
