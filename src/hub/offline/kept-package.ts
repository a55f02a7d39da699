import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readTextIfExists, syncPath } from '../../core/files/file-system.ts';
import type { MachineCommands } from './machine-commands.ts';

const PROGRAM = '/usr/lib/atmosphere-edge';
const UNIT = '/usr/lib/systemd/system/atmosphere-edge.service';
const CONTROL_FILES = ['preinst', 'postinst', 'prerm', 'postrm', 'md5sums'];

const removeFolder = (path: string): void => rmSync(path, { recursive: true, force: true });

/** The files of the version before an upgrade, which the package's preinst keeps: `files`, and `control` with what dpkg knows of it. */
export class KeptPackage {
  readonly #folder: string;
  readonly #commands: MachineCommands;

  constructor(folder: string, commands: MachineCommands) {
    this.#folder = folder;
    this.#commands = commands;
  }

  /** The version that is kept as a whole; undefined if none is. */
  version(): string | undefined {
    const hasProgram = [`${PROGRAM}/bin/node`, UNIT].every((path) => existsSync(this.#file(path)));
    const status = hasProgram ? readTextIfExists(join(this.#folder, 'control/status')) : undefined;
    return /^Version: (\S+)$/m.exec(status ?? '')?.[1];
  }

  /** The unit of the hub, which runs it from the kept files. */
  unit(): string {
    return readFileSync(this.#file(UNIT), 'utf8').replaceAll(`${PROGRAM}/`, `${this.#file(PROGRAM)}/`);
  }

  /** Packs the kept files as the package that they were. Returns its place. */
  async pack(): Promise<string> {
    const [tree, file] = [join(this.#folder, 'tree'), join(this.#folder, 'previous.deb')];
    rmSync(tree, { recursive: true, force: true });
    await this.#commands.run('cp', ['--archive', '--link', join(this.#folder, 'files'), tree]);
    this.#writeControl(tree);
    await this.#commands.run('dpkg-deb', ['--root-owner-group', '-Zzstd', '-z1', '--build', tree, file]);
    rmSync(tree, { recursive: true, force: true });
    return file;
  }

  /** Takes the files away as a whole, and then removes them, which takes a board seconds. A part of a program would be taken for the program. */
  discard(remove = removeFolder): void {
    const gone = `${this.#folder}.gone`;
    remove(gone);
    if (!existsSync(this.#folder)) return;
    renameSync(this.#folder, gone);
    syncPath(dirname(gone));
    remove(gone);
  }

  #writeControl(tree: string): void {
    const control = join(tree, 'DEBIAN');
    mkdirSync(control, { mode: 0o755 });
    for (const name of CONTROL_FILES.filter((one) => existsSync(join(this.#folder, 'control', one)))) {
      cpSync(join(this.#folder, 'control', name), join(control, name));
    }
    writeFileSync(join(control, 'control'), controlOf(readFileSync(join(this.#folder, 'control/status'), 'utf8')));
    restoreSettings(tree, control);
  }

  #file(path: string): string {
    return join(this.#folder, 'files', path);
  }
}

/** Returns the control file of an installed package, from what `dpkg-query --status` says of it. */
export function controlOf(status: string): string {
  const fields = status.trimEnd().split(/\n(?! )/);
  return `${fields.filter((field) => !/^(Status|Conffiles|Config-Version):/.test(field)).join('\n')}\n`;
}

/**
 * Puts the settings into the package as they were delivered. What the owner made of them must not pass for what was delivered: dpkg would
 * replace it at the next upgrade.
 */
function restoreSettings(tree: string, control: string): void {
  const delivered = join(tree, PROGRAM, 'conffiles');
  if (!existsSync(delivered)) return;
  cpSync(delivered, tree, { recursive: true });
  const files = readdirSync(delivered, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map(({ parentPath, name }) => join(parentPath, name).slice(delivered.length));
  writeFileSync(join(control, 'conffiles'), paths.map((path) => `${path}\n`).join(''));
  chmodSync(join(control, 'conffiles'), 0o644);
}
