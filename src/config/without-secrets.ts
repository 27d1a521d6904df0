/** The effective settings without their secrets, for printing. */
import { describedSettings } from "./describe.ts";
import type { McpServerSettings } from "./mcp-servers.ts";
import type { Settings } from "./settings.ts";

const HIDDEN = "(hidden)";

/** The effective settings for printing: secrets are hidden, unset settings omitted. */
export function withoutSecrets(settings: Settings): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  for (const { name, secret } of describedSettings()) {
    const value = settings[name];
    if (value === undefined || isEmpty(value)) continue;
    if (secret) shown[name] = HIDDEN;
    else shown[name] = typeof value === "string" ? hidePassword(value) : value;
  }
  return {
    ...shown,
    store: hidePassword(settings.store),
    ...(!isEmpty(settings.mcpServers) && {
      mcpServers: hideServerSecrets(settings.mcpServers),
    }),
    // Instructions are content, not settings.
    ...(!isEmpty(settings.presets) && {
      presets: Object.fromEntries(
        Object.entries(settings.presets).map(([name, { instructions, ...preset }]) => [
          name,
          { ...preset, ...(instructions !== undefined && { instructions: HIDDEN }) },
        ]),
      ),
    }),
    keys: settings.keys.map((key) => key.name),
    backends: settings.backends.map((each) => ({
      ...each,
      ...(each.url !== undefined && { url: hidePassword(each.url) }),
      ...(each.engineKey !== undefined && { engineKey: HIDDEN }),
      // Headers and extra fields may contain keys.
      ...(each.headers !== undefined && { headers: HIDDEN }),
      ...(each.extraBody !== undefined && { extraBody: HIDDEN }),
    })),
  };
}

/** Whether a list or an object has no elements. */
function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

/** Headers, variables, arguments and a URL's query can contain credentials. */
function hideServerSecrets(
  servers: Readonly<Record<string, McpServerSettings>>,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(servers).map(([label, { url, headers, args, env, ...server }]) => [
      label,
      {
        ...server,
        ...(url !== undefined && { url: new URL(url).origin }),
        ...(headers !== undefined && { headers: HIDDEN }),
        ...(args !== undefined && { args: HIDDEN }),
        ...(env !== undefined && { env: HIDDEN }),
      },
    ]),
  );
}

/** Hides the credentials of `redis://user:password@host`. Other text is unchanged. */
export function hidePassword(url: string): string {
  return url.replace(/\/\/[^/]*@/, `//${HIDDEN}@`);
}
