/**
 * Names for a server's tools that every client and the model can take: `label__tool`, the form that namespaces of clients
 * have as functions. A dot would begin another namespace.
 */

const MAX_NAME = 64;

/** One for each tool, all different. */
export function toFunctionNames(label: string, tools: readonly string[]): string[] {
  const taken = new Set<string>();
  return tools.map((tool) => {
    const whole = `${label}__${tool}`.replaceAll(/[^\w-]/g, "_");
    let name = whole.slice(0, MAX_NAME);
    for (let count = 2; taken.has(name); count++) {
      const ending = `_${count}`;
      name = whole.slice(0, MAX_NAME - ending.length) + ending;
    }
    taken.add(name);
    return name;
  });
}
