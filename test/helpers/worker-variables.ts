import { describedSettings } from "../../src/config/describe.ts";

/** Settings as variables of a Worker. */
export function toVariables(settings: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]) => {
      const setting = describedSettings().find((each) => each.name === name);
      if (setting === undefined) throw new Error(`there is no setting ${name}`);
      return [setting.variable, typeof value === "string" ? value : JSON.stringify(value)];
    }),
  );
}
