/** The command that runs the gateway again, in the form in which it was started. */

/** `npm start --` in a clone, `npx harmony-gateway` from the package. */
export function commandName(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): string {
  if (environment["npm_lifecycle_event"] === "start") return "npm start --";
  return environment["npm_command"] === "exec" ? "npx harmony-gateway" : "harmony-gateway";
}
