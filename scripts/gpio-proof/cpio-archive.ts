/** A file of an archive; a folder where there are no bytes. */
export interface ArchiveEntry {
  /** Without a leading slash. */
  readonly path: string;
  readonly bytes?: Buffer;
  /** Default 0755: all that the guest has is programs and libraries. */
  readonly mode?: number;
}

const FOLDER = 0o040000;
const FILE = 0o100000;
const MAGIC = '070701';
const END = 'TRAILER!!!';

/** An archive in the `newc` form, which the kernel unpacks into its first root (Documentation/driver-api/early-userspace). */
export function cpioArchive(entries: readonly ArchiveEntry[]): Buffer {
  const members = entries.flatMap((entry, index) => member(entry, index + 1));
  return Buffer.concat([...members, ...member({ path: END, bytes: Buffer.alloc(0), mode: 0 }, 0)]);
}

function member({ path, bytes, mode = 0o755 }: ArchiveEntry, inode: number): readonly Buffer[] {
  const name = Buffer.from(`${path}\0`);
  const content = bytes ?? Buffer.alloc(0);
  const kind = bytes ? FILE : FOLDER;
  const fields = [inode, kind | mode, 0, 0, 1, 0, content.length, 0, 0, 0, 0, name.length, 0];
  const header = Buffer.from(MAGIC + fields.map((field) => field.toString(16).padStart(8, '0')).join(''));
  return [padded(Buffer.concat([header, name])), padded(content)];
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);
}
