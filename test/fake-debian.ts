import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** The scripts of the package. */
export const SCRIPTS = join(import.meta.dirname, '../scripts/package/debian');

/** What the programs of the machine do: note how they were called, and say what stands in files of the same folder. */
const PROGRAMS: Readonly<Record<string, string>> = {
  systemctl: `if [ "$1" = "$(cat "$fake/failing" 2>/dev/null)" ]; then rm "$fake/failing"; exit 1; fi
case "$*" in
show*--value*) sed -n 's/^ActiveState=//p' "$fake/hub" ;;
show*upgrade*) cat "$fake/watch" ;;
show*) cat "$fake/hub" ;;
esac`,
  dpkg: `case "$1" in
--compare-versions) exec /usr/bin/dpkg "$@" ;;
esac
readlink "/proc/$$/fd/2" >"$fake/stderr"
if [ ! -e "$fake/complaint" ]; then exit 0; fi
if [ "$LC_ALL" = C ]; then cat "$fake/complaint" >&2; else echo 'dpkg: Fehler' >&2; fi
exit 2`,
  'dpkg-query': `case "$*" in
--status*) cat "$fake/status" ;;
--listfiles*) cat "$fake/files" ;;
*Status-Status*) cat "$fake/installation" ;;
*Security-Minimum*) cat "$fake/minimum" ;;
esac`,
};
const SILENT = ['deb-systemd-invoke', 'deb-systemd-helper', 'systemd-sysusers', 'systemd-tmpfiles', 'udevadm', 'sync'];

/** A folder that looks like a Debian with the package, for the package's scripts and for the watch of upgrades. Nothing of it is run as root. */
export class FakeDebian {
  readonly root = mkdtempSync(join(tmpdir(), 'atmo-debian-'));
  readonly env: NodeJS.ProcessEnv = { ...process.env, LC_ALL: 'de_DE.UTF-8', PATH: `${this.root}/bin:${process.env.PATH}` };
  readonly #fake = join(this.root, 'fake');

  constructor() {
    for (const [name, text] of [...Object.entries(PROGRAMS), ...SILENT.map((one) => [one, ''] as const)]) {
      const noted = `fake=${this.#fake}\necho "${name} $*" >>"$fake/calls"\n`;
      this.write(`bin/${name}`, `#!/bin/sh\n${noted}${text}\n`, 0o755);
    }
    mkdirSync(join(this.root, 'run/systemd/system'), { recursive: true });
    this.say({ hub: 'ActiveState=active\nMainPID=7\nNRestarts=0\n', watch: 'ActiveState=inactive\n', status: '', files: '' });
  }

  /** What programs say: systemctl of the `hub` and the `watch`, dpkg-query all else. `failing`: a verb with which systemctl fails once. */
  say(texts: Readonly<Record<string, string>>): void {
    for (const [name, text] of Object.entries(texts)) this.write(`fake/${name}`, text);
  }

  write(path: string, text: string, mode = 0o644): void {
    mkdirSync(join(this.root, dirname(path)), { recursive: true });
    writeFileSync(join(this.root, path), text, { mode });
  }

  /** The text of a file; undefined if it is not there. */
  read(path: string): string | undefined {
    return existsSync(join(this.root, path)) ? readFileSync(join(this.root, path), 'utf8').trim() : undefined;
  }

  /** How programs were called since the last time that somebody asked, those alone whose call begins so. */
  calls(beginning: string): readonly string[] {
    const calls = (this.read('fake/calls') ?? '').split('\n').filter((call) => call.startsWith(beginning));
    rmSync(join(this.#fake, 'calls'), { force: true });
    appendFileSync(join(this.#fake, 'calls'), '');
    return calls;
  }

  /** Installs a version's files and keeps them as the preinst of the next one does. */
  keep(version: string): void {
    const kept = 'usr/lib/atmosphere-edge-previous';
    const facts = ['Architecture: all', 'Maintainer: Owner <owner@example.org>', 'Description: hub'];
    const status = ['Package: atmosphere-edge', 'Status: install ok installed', `Version: ${version}`, ...facts];
    this.write(`${kept}/control/status`, `${status.join('\n')}\n`);
    this.write(`${kept}/files/usr/lib/atmosphere-edge/bin/node`, version);
    this.write(`${kept}/files/usr/lib/systemd/system/atmosphere-edge.service`, 'ExecStart=/usr/lib/atmosphere-edge/bin/node serve\n');
  }

  /** Runs a script of the package of a version, which finds the machine in this folder. */
  runScript(name: string, version: string, args: readonly string[]) {
    const values = readFileSync(join(SCRIPTS, name), 'utf8').replaceAll('{version}', version).replaceAll('{securityMinimum}', version);
    this.write(`fake/${name}`, values.replaceAll(/(?<=[\s=(])\/(?=(?:var|usr|run|etc)\/)/g, `${this.root}/`));
    const { status, stderr } = spawnSync('sh', [join(this.#fake, name), ...args], { env: this.env, encoding: 'utf8' });
    return { status, said: stderr };
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true });
  }
}
