/** Opens an address in the user's browser. */
import { spawn } from "node:child_process";
import { once } from "node:events";

/** What opens an address, on systems that have a name of their own for it. */
const OPENERS = new Map<NodeJS.Platform, readonly [string, ...string[]]>([
  ["darwin", ["open"]],
  ["win32", ["explorer.exe"]],
]);

/** Whether there is a program for it. What the program does is not known. */
export async function openInBrowser(url: string): Promise<boolean> {
  const [program, ...args] = OPENERS.get(process.platform) ?? ["xdg-open"];
  const child = spawn(program, [...args, url], { stdio: "ignore", detached: true });
  try {
    await once(child, "spawn");
    child.unref();
    return true;
  } catch {
    return false;
  }
}
