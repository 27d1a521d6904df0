/** The command in a pseudo-terminal, as a person starts it. */
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { describe, expect, onTestFinished, test } from "vitest";
import { typeCommand } from "../../scripts/session/terminal.ts";
import { gatewayCommand } from "../helpers/gateway-command.ts";

const HAS_SCRIPT = spawnSync("script", ["--version"]).status === 0;

/** Starts the gateway by a line of shell, in which `command` is the gateway with free ports. */
async function typeInShell(line: (command: string) => string) {
  const { script, env } = await gatewayCommand();
  const command = `"${process.execPath}" "${script}" --port 0`;
  const typed = typeCommand(line(command), {
    cwd: tmpdir(),
    env: { ...env, PATH: process.env["PATH"] },
  });
  onTestFinished(() => typed.interrupt());
  await typed.waitFor(/is ready/);
  const [origin = ""] = /http:\/\/127\.0\.0\.1:\d+/.exec(typed.printed) ?? [];
  return { typed, origin };
}

describe.skipIf(!HAS_SCRIPT)(
  "in a terminal (skipped where script of util-linux is not installed)",
  () => {
    test("the printed command is answered, keys are listed, and q ends the gateway as Ctrl+C does", async () => {
      const { typed, origin } = await typeInShell((command) => command);
      await typed.waitFor(/h \+ Enter for help/);
      typed.press("h\n");
      await typed.waitFor(/q \+ Enter {3}quit/);
      const [, url = "", body = ""] = /curl (\S+) -d '([^']*)'/.exec(typed.printed) ?? [];
      expect(url).toContain(origin);
      const answer = await fetch(url, { method: "POST", body });
      expect(answer.status).toBe(200);
      await answer.text();
      typed.press("q\n");
      await typed.end();
      expect(typed.printed).toMatch(/Shutting down\.\n\d\d:\d\d:\d\d {2}1 turn · /);
    });

    test("in the background the terminal belongs to others", async () => {
      const { typed, origin } = await typeInShell(
        (command) => `bash -mc '${command} & cat; kill %1'`,
      );
      typed.press("h\n");
      await typed.waitFor(/^h$/m);
      expect((await fetch(`${origin}/health`)).status).toBe(200);
      expect(typed.printed).not.toContain("+ Enter");
      // This character ends the input of cat.
      typed.press("\u0004");
      await typed.end();
    });
  },
);
