/**
 * Limits the size of Pyodide's in-memory file system. File contents are JavaScript buffers, which the limit on
 * WebAssembly's memory does not count.
 */

/** The members of Emscripten's file system that are used. */
export interface EmscriptenFs {
  readonly filesystems: { readonly MEMFS: { readonly ops_table: { readonly file: FileOps } } };
  readonly ErrnoError: new (errno: number) => Error;
  readonly root: FileNode;
  mkdirTree(path: string): void;
  readdir(path: string): string[];
  lstat(path: string): { mode: number; size: number; mtime: Date; ino: number };
  isDir(mode: number): boolean;
  isFile(mode: number): boolean;
  readFile(path: string): Uint8Array;
}

interface FileOps {
  readonly node: { setattr(node: FileNode, attributes: { readonly size?: number }): void };
  readonly stream: {
    write(
      stream: { node: FileNode },
      buffer: Uint8Array,
      ...rest: [number, number, number]
    ): number;
  };
}

interface FileNode {
  readonly usedBytes?: number;
  /** Bytes of a file, or the child nodes of a folder. */
  readonly contents?: ArrayBufferView | Readonly<Record<string, FileNode>>;
}

const NO_SPACE = 51;

export function limitFiles(fs: EmscriptenFs, maxBytes: number): void {
  const { node: nodeOps, stream: streamOps } = fs.filesystems.MEMFS.ops_table.file;
  const setattr = nodeOps.setattr.bind(nodeOps);
  const write = streamOps.write.bind(streamOps);
  let used = sizeOf(fs.root);

  /** Reserves bytes. Deleted files are subtracted only when the quota seems to be exhausted. */
  function claim(bytes: number): void {
    if (bytes <= 0) return;
    if (used + bytes > maxBytes) used = sizeOf(fs.root);
    if (used + bytes > maxBytes) throw new fs.ErrnoError(NO_SPACE);
    used += bytes;
  }

  nodeOps.setattr = (node, attributes) => {
    if (attributes.size !== undefined) claim(attributes.size - (node.usedBytes ?? 0));
    setattr(node, attributes);
  };
  streamOps.write = (stream, buffer, offset, length, position) => {
    claim(position + length - (stream.node.usedBytes ?? 0));
    return write(stream, buffer, offset, length, position);
  };
}

function sizeOf(root: FileNode): number {
  let bytes = 0;
  const nodes = [root];
  for (let node = nodes.pop(); node !== undefined; node = nodes.pop()) {
    if (node.contents === undefined) continue;
    if (ArrayBuffer.isView(node.contents)) bytes += node.usedBytes ?? 0;
    else for (const child of Object.values(node.contents)) nodes.push(child);
  }
  return bytes;
}
