/** A wheel with one module: a ZIP archive of stored files. */
import { crc32 } from "node:zlib";

export function makeWheel(name: string, source: string): Buffer {
  const info = `${name}-1.0.dist-info`;
  return zip([
    [`${name}/__init__.py`, source],
    [`${info}/METADATA`, `Metadata-Version: 2.1\nName: ${name}\nVersion: 1.0\n`],
    [`${info}/WHEEL`, "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"],
    [`${info}/RECORD`, ""],
  ]);
}

function zip(files: readonly (readonly [path: string, text: string])[]): Buffer {
  const bodies: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [path, text] of files) {
    const name = Buffer.from(path);
    const data = Buffer.from(text);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt32LE(crc32(data), 10);
    common.writeUInt32LE(data.length, 14);
    common.writeUInt32LE(data.length, 18);
    common.writeUInt16LE(name.length, 22);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(offset, 10);
    const body = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), common, name, data]);
    const version = Buffer.from([20, 0]);
    directory.push(
      Buffer.concat([Buffer.from("PK\x01\x02", "latin1"), version, common, place, name]),
    );
    bodies.push(body);
    offset += body.length;
  }
  const entries = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(entries.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...bodies, entries, end]);
}
