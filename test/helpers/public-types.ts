/**
 * The public types of a package: for each entry, the exported names, their declarations without comments, and all
 * declarations that these reference. The compiler's own API reads them from declaration files.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Node, SyntaxKind } from "typescript/unstable/ast";
import { API, type Project, type Symbol, SymbolFlags } from "typescript/unstable/sync";

/** Kinds of declarations at the top level of a module. */
const TOP_LEVEL: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.ClassDeclaration,
  SyntaxKind.FunctionDeclaration,
  SyntaxKind.InterfaceDeclaration,
  SyntaxKind.TypeAliasDeclaration,
  SyntaxKind.VariableDeclaration,
]);

interface Package {
  readonly project: Project;
  /** The package's declaration files. */
  readonly folder: string;
  /** Names whose declarations are shown without the declarations that only these reference. */
  readonly opaque: ReadonlySet<string>;
}

/**
 * @param folder declaration files; a `tsconfig.json` is written there
 * @param entries paths in it, `harmony/index.d.ts`
 * @param opaque names whose declarations are shown without the declarations that only these reference
 * @returns the text of each entry. A declaration is written in full with each entry that exports it, otherwise where it
 * is needed.
 */
export function readPublicTypes(
  folder: string,
  entries: readonly string[],
  opaque: ReadonlySet<string>,
): Map<string, string> {
  const config = join(folder, "tsconfig.json");
  const compilerOptions = { module: "nodenext", allowImportingTsExtensions: true, noEmit: true };
  writeFileSync(config, JSON.stringify({ compilerOptions, files: entries }));
  const api = new API({ cwd: folder });
  try {
    const project = api.updateSnapshot({ openProjects: [config] }).getProject(config);
    if (project === undefined) throw new Error("The compiler opened no project.");
    const exported = entries.map((entry) => exportsOf(project, join(folder, entry)));
    const all = new Set(exported.flatMap((each) => [...each.values()]));
    const texts = exported.map((each) => toText({ project, folder, opaque }, each, all));
    return new Map(entries.map((entry, index) => [entry, texts[index] ?? ""]));
  } finally {
    api.close();
  }
}

/** The exports of an entry, by name. */
function exportsOf(project: Project, path: string): Map<string, Symbol> {
  const { checker, program } = project;
  const file = program.getSourceFile(path);
  const module = file && checker.getSymbolAtLocation(file);
  if (module === undefined) throw new Error(`${path} exports nothing.`);
  const exported = checker.getExportsOfModule(module);
  return new Map(exported.map((symbol) => [symbol.name, toOriginal(project, symbol)]));
}

/** @param all the exports of all entries */
function toText(
  { project, folder, opaque }: Package,
  exported: ReadonlyMap<string, Symbol>,
  all: ReadonlySet<Symbol>,
): string {
  const own = new Set(exported.values());
  const shown = new Map<Symbol, string>();
  const others = new Set<string>();
  const found = [...own];
  for (let symbol = found.pop(); symbol !== undefined; symbol = found.pop()) {
    if (shown.has(symbol)) continue;
    if (all.has(symbol) && !own.has(symbol)) {
      others.add(symbol.name);
      continue;
    }
    const nodes = declarationsIn(project, symbol, folder);
    shown.set(symbol, nodes.map((node) => project.emitter.printNode(node)).join("\n"));
    if (opaque.has(symbol.name)) continue;
    found.push(...nodes.flatMap((node) => namedIn(project, node)));
  }
  const texts = (isOwn: boolean) =>
    [...shown]
      .filter(([symbol, text]) => own.has(symbol) === isOwn && text !== "")
      .toSorted(([a, textOfA], [b, textOfB]) => compare(a.name + textOfA, b.name + textOfB))
      .map(([, text]) => text.replace(/^export (?:default )?/, ""));
  const reached = texts(false);
  return [
    `export {\n${toList(exported.keys())}\n};`,
    ...texts(true),
    ...(others.size === 0 ? [] : [`// Exported by other entries:\n${toList(others)}`]),
    ...(reached.length === 0 ? [] : ["// Not exported, but named above:", ...reached]),
    "",
  ].join("\n\n");
}

/** A line for each name, for readable differences. */
function toList(names: Iterable<string>): string {
  return [...names]
    .toSorted(compare)
    .map((name) => `    ${name},`)
    .join("\n");
}

/** The original symbol of an import or export. */
function toOriginal({ checker }: Project, symbol: Symbol): Symbol {
  return symbol.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

/** The declarations in the package itself, without types of its dependencies and of the language. */
function declarationsIn(project: Project, symbol: Symbol, folder: string): Node[] {
  return symbol.declarations.flatMap((handle) => {
    // Paths are in lower case if the file system ignores case.
    const isOwn = [folder, folder.toLowerCase()].some((each) => handle.path.startsWith(each));
    if (!isOwn || !TOP_LEVEL.has(handle.kind)) return [];
    const declaration = handle.resolve(project);
    if (declaration?.kind !== SyntaxKind.VariableDeclaration) return declaration ?? [];
    // With its `declare const`.
    return declaration.parent.parent;
  });
}

/** All symbols that a declaration names. */
function namedIn(project: Project, declaration: Node): Symbol[] {
  const identifiers: Node[] = [];
  const visit = (node: Node): void => {
    if (node.kind === SyntaxKind.Identifier) identifiers.push(node);
    node.forEachChild(visit);
  };
  visit(declaration);
  return project.checker
    .getSymbolAtLocation(identifiers)
    .flatMap((symbol) => (symbol === undefined ? [] : toOriginal(project, symbol)));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
