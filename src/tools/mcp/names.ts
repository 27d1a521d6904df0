/**
 * Names for a server's tools that are valid for clients and the model. They are used below the server's label like
 * names in any namespace (`harmony/tool-names.ts`), so a dot in a name would begin another namespace.
 */

const MAX_NAME = 64;

/** One unique name for each tool. */
export function toToolNames(tools: readonly string[]): string[] {
  const taken = new Set<string>();
  return tools.map((tool) => {
    const whole = toToolName(tool);
    let name = whole;
    for (let count = 2; taken.has(name); count++) {
      const ending = `_${count}`;
      name = whole.slice(0, MAX_NAME - ending.length) + ending;
    }
    taken.add(name);
    return name;
  });
}

/** The name of a single tool, if the server's other tools are unknown. */
export function toToolName(tool: string): string {
  return tool.replaceAll(/[^\w-]/g, "_").slice(0, MAX_NAME);
}
