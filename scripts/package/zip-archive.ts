/** Files become a zip archive: the same bytes from the same files (APPNOTE.TXT of PKWARE, version 6.3). */
import { crc32, deflateRawSync } from 'node:zlib';

/** A file of an archive. */
export interface ZipFile {
  /** Path with slashes. */
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly isExecutable?: true;
}

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
/** Version 2.0, for deflate. In the upper byte of `made by`: Unix, so that readers take the modes. */
const VERSION = 20;
const MADE_BY = (3 << 8) | VERSION;
/** Names are UTF-8 (general purpose bit 11). */
const FLAGS = 0x0800;
const DEFLATE = 8;
/** 1 January 1980, the earliest date of the format: every archive has it, so that the same files give the same bytes. */
const DATE = 0x0021;
const REGULAR_FILE = 0o100000;

/** Returns the archive with these files, in this order. */
export function zipArchive(files: readonly ZipFile[]): Buffer {
  const bodies: Buffer[] = [];
  const entries: Buffer[] = [];
  let offset = 0;
  for (const file of files) {
    const name = Buffer.from(file.path);
    const packed = deflateRawSync(file.bytes, { level: 9 });
    const facts = factsOf(file, name, packed);
    const local = Buffer.concat([numbers([LOCAL, 4], [VERSION, 2]), facts, name, packed]);
    bodies.push(local);
    entries.push(Buffer.concat([numbers([CENTRAL, 4], [MADE_BY, 2], [VERSION, 2]), facts, placeOf(file, offset), name]));
    offset += local.length;
  }
  const directory = Buffer.concat(entries);
  const count = files.length;
  const end = numbers([END, 4], [0, 2], [0, 2], [count, 2], [count, 2], [directory.length, 4], [offset, 4], [0, 2]);
  return Buffer.concat([...bodies, directory, end]);
}

/** The fields that an entry and its header have in common, from the flags to the length of the extra field. */
function factsOf({ bytes }: ZipFile, name: Buffer, packed: Buffer): Buffer {
  const sizes: readonly Field[] = [
    [crc32(bytes), 4],
    [packed.length, 4],
    [bytes.length, 4],
  ];
  return numbers([FLAGS, 2], [DEFLATE, 2], [0, 2], [DATE, 2], ...sizes, [name.length, 2], [0, 2]);
}

/** Comment, disk, attributes and place of an entry. */
function placeOf({ isExecutable }: ZipFile, offset: number): Buffer {
  const mode = REGULAR_FILE | (isExecutable ? 0o755 : 0o644);
  return numbers([0, 2], [0, 2], [0, 2], [(mode << 16) >>> 0, 4], [offset, 4]);
}

type Field = readonly [value: number, bytes: 2 | 4];

function numbers(...fields: readonly Field[]): Buffer {
  return Buffer.concat(
    fields.map(([value, size]) => {
      const bytes = Buffer.alloc(size);
      bytes.writeUIntLE(value, 0, size);
      return bytes;
    }),
  );
}
