import { cpSync } from 'node:fs';
import { debianArchitecture, THIS_ARCHITECTURE } from '../../../scripts/package/debian-architecture.ts';
import { layOutPackage } from '../../../scripts/package/debian-tree.ts';
import { builtFolder } from '../built-folder.ts';

/** The only time in packages of tests. */
export const PACKAGE_TIME = new Date('2026-01-01T00:00:00Z');

/** Puts the files of the package for this machine below `root`. They are laid out once for the tests of several files. */
export async function layOutOnce(root: string): Promise<void> {
  const laidOut = await builtFolder({
    name: 'package-tree',
    sources: ['{src,scripts,docs,device-profiles,systemd}/**/*', '*.{json,md}', 'LICENSE'],
    exclude: ['**/node_modules/**'],
    build: (folder) => layOutPackage(folder, debianArchitecture(THIS_ARCHITECTURE), PACKAGE_TIME),
  });
  cpSync(laidOut, root, { recursive: true, verbatimSymlinks: true });
}
