import { inflateRawSync } from 'node:zlib';

interface ReadFile {
  readonly text: string;
  readonly mode: number;
}

/** The files of a zip archive by their path, read from its directory as a reader does (APPNOTE.TXT of PKWARE). */
export function filesIn(archive: Buffer): ReadonlyMap<string, ReadFile> {
  const files = new Map<string, ReadFile>();
  const end = archive.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]));
  let entry = archive.readUInt32LE(end + 16);
  for (let left = archive.readUInt16LE(end + 10); left > 0; left -= 1) {
    const [packed, nameLength] = [archive.readUInt32LE(entry + 20), archive.readUInt16LE(entry + 28)];
    const local = archive.readUInt32LE(entry + 42);
    const path = archive.toString('utf8', entry + 46, entry + 46 + nameLength);
    const start = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
    const text = inflateRawSync(archive.subarray(start, start + packed)).toString();
    files.set(path, { text, mode: (archive.readUInt32LE(entry + 38) >>> 16) & 0o777 });
    entry += 46 + nameLength;
  }
  return files;
}
