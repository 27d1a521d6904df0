/** `harmony-gateway config`: prints the settings in effect. */
import { withoutSecrets } from "../../config/without-secrets.ts";
import type { Command } from "./command-io.ts";
import { loadSettings } from "./settings.ts";

export const CONFIG: Command = {
  usage: "harmony-gateway config [settings]    print the settings in effect, without secrets",
  run(args, { environment, print }) {
    const { settings } = loadSettings(args, environment);
    print(JSON.stringify(withoutSecrets(settings), undefined, 2));
    return 0;
  },
};
