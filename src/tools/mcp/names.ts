/**
 * Names for a server's tools that clients and the model can take. They stand below the server's label as those of any
 * namespace do (`harmony/tool-names.ts`), so that a dot in a name would begin another namespace.
 */

const MAX_NAME = 64;

/** One for each tool, all different. */
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

/** The name of a tool where the others of its server are not known. */
export function toToolName(tool: string): string {
  return tool.replaceAll(/[^\w-]/g, "_").slice(0, MAX_NAME);
}
