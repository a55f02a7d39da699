import { mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';

interface Recording {
  /** What the tree is of. */
  readonly about: string;
  /** Path of an attribute → its text; line ends are added. */
  readonly files: Readonly<Record<string, string>>;
  /** Path of a link → where it leads, relative to the root. */
  readonly links: Readonly<Record<string, string>>;
}

/** The kernel's sysfs of some board, unpacked into a folder of its own; tests change it as hardware would. */
export class SysfsTree implements Disposable {
  readonly root = mkdtempSync(join(tmpdir(), 'sysfs-'));

  /** An empty one: a board without anything. */
  static empty(): SysfsTree {
    return new SysfsTree();
  }

  /** One of `test/fixtures/sysfs`. */
  static of(name: string): SysfsTree {
    const tree = new SysfsTree();
    const recording = JSON.parse(readFileSync(join(import.meta.dirname, `../fixtures/sysfs/${name}.json`), 'utf8')) as Recording;
    for (const [path, text] of Object.entries(recording.files)) tree.write(path, text);
    for (const [path, target] of Object.entries(recording.links)) tree.link(path, target);
    return tree;
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    writeFileSync(join(this.root, path), text === '' ? '' : `${text}\n`);
  }

  link(path: string, target: string): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    symlinkSync(join(this.root, target), join(this.root, path));
  }

  /** Where a link leads, relative to the root. */
  targetOf(path: string): string {
    return relative(this.root, readlinkSync(join(this.root, path)));
  }

  read(path: string): string {
    return readFileSync(join(this.root, path), 'utf8').trimEnd();
  }

  remove(path: string): void {
    rmSync(join(this.root, path), { recursive: true, force: true });
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}
