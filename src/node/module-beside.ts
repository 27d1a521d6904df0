/**
 * URL of a module that a thread or process runs, beside the calling module: TypeScript in a clone, compiled in the package.
 *
 * @param caller `import.meta.url` of the calling module
 */
export function moduleBeside(caller: string, name: string): URL {
  return new URL(`./${name}${caller.endsWith(".ts") ? ".ts" : ".js"}`, caller);
}
