import { settingsSchema } from "../../src/index.ts";

/** Settings as variables of a Worker. */
export function toVariables(settings: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]) => {
      const known = settingsSchema.unwrap().keyof().parse(name);
      const words = known.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
      const text = typeof value === "string" ? value : JSON.stringify(value);
      return [`HARMONY_GATEWAY_${words}`, text];
    }),
  );
}
