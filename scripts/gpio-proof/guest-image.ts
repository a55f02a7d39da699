import { globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { bundle, ROOT } from '../bundle.ts';
import { type ArchiveEntry, cpioArchive } from './cpio-archive.ts';

const ENTRY = 'scripts/gpio-proof/guest.ts';
const KOFFI_FILES = ['*.{js,cjs,json}', 'lib/**/*.{js,cjs}', 'src/koffi/**/*.{js,cjs}'];
/** First program of the guest: no shell, no service, nothing but the proof. */
const INIT = `#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs dev /dev
/bin/node /app/dist/guest.mjs
/bin/busybox poweroff -f
`;

/** The first root of the guest: Node, koffi and the hub's GPIO code, as `root` and this repository have them. */
export async function guestImage(root: string, workDir: string): Promise<Buffer> {
  const outDir = join(workDir, 'dist');
  await bundle({ entry: ENTRY, outDir, name: 'guest' });
  const koffi = join(ROOT, 'node_modules/koffi');
  const files = new Map<string, string>([
    ['bin/busybox', join(root, 'bin/busybox')],
    ['bin/node', join(root, 'node/bin/node')],
    ...libraries(root),
    ...inFolder('app/dist', outDir, globSync('*.mjs', { cwd: outDir })),
    ...inFolder('app/node_modules/koffi', koffi, globSync(KOFFI_FILES, { cwd: koffi })),
    ...inFolder('app/node_modules/@koromix/koffi-linux-arm64', join(root, 'koffi-linux-arm64'), KOFFI_NATIVE),
  ]);
  const contents = [...files].map(([path, file]): ArchiveEntry => ({ path, bytes: readFileSync(file) }));
  const all: ArchiveEntry[] = [
    ...contents,
    { path: 'init', bytes: Buffer.from(INIT) },
    ...['proc', 'sys', 'dev'].map((path) => ({ path })),
  ];
  return cpioArchive([...foldersOf(all), ...all]);
}

const KOFFI_NATIVE = ['index.js', 'package.json', 'linux_arm64/koffi.node'];

/** Debian has them below `/usr` or not, depending on its age. */
function libraries(root: string): readonly [string, string][] {
  const found = globSync(['lib/*', 'usr/lib/*', 'lib/aarch64-linux-gnu/*', 'usr/lib/aarch64-linux-gnu/*'], { cwd: root });
  return found
    .filter((path) => /\.so(\.\d+)*$/.test(path) && statSync(join(root, path)).isFile())
    .map((path) => [path.replace(/^usr\//, ''), join(root, path)]);
}

function inFolder(folder: string, from: string, files: readonly string[]): readonly [string, string][] {
  return files.map((file) => [join(folder, file), join(from, file)]);
}

/** The kernel makes no folder by itself. */
function foldersOf(entries: readonly ArchiveEntry[]): readonly ArchiveEntry[] {
  const folders = new Set<string>();
  for (const { path } of entries) {
    for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) folders.add(folder);
  }
  return [...folders].sort().map((path) => ({ path }));
}
