/**
 * The address of a module that a thread or a process runs, next to the calling one: TypeScript in a clone, compiled in the package.
 *
 * @param caller its `import.meta.url`
 */
export function moduleBeside(caller: string, name: string): URL {
  return new URL(`./${name}${caller.endsWith(".ts") ? ".ts" : ".js"}`, caller);
}
