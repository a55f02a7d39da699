import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PrivateBus } from '../../matter/private-bus.ts';

const run = promisify(execFile);
/** Where Debian's packages may have been unpacked without installing them. */
const UNPACKED = join(import.meta.dirname, '../../../.run/debian/avahi-daemon');

/** Why avahi cannot be run here; undefined when it can. */
export function missingForAvahi(): string | undefined {
  if (pathOf('avahi-daemon') === undefined || pathOf('avahi-browse') === undefined)
    return 'install the packages avahi-daemon and avahi-utils';
  return spawnSync('dbus-daemon', ['--version']).status === 0 ? undefined : 'install the package dbus';
}

/** avahi on a host of the private network, on a message bus of its own; nothing of it reaches the machine's. */
export class Avahi implements AsyncDisposable {
  readonly #bus: PrivateBus;
  readonly #daemon: ChildProcess;
  readonly #inside: (command: readonly string[]) => readonly [string, ...string[]];
  readonly #published: ChildProcess[] = [];

  private constructor(bus: PrivateBus, daemon: ChildProcess, inside: (command: readonly string[]) => readonly [string, ...string[]]) {
    this.#bus = bus;
    this.#daemon = daemon;
    this.#inside = inside;
  }

  /** `inside` makes a command run on the host; `dir` is for files of its own. */
  static async start(dir: string, inside: (command: readonly string[]) => readonly [string, ...string[]]): Promise<Avahi> {
    const bus = await PrivateBus.start(dir);
    const file = (name: string, text: string) => {
      writeFileSync(join(dir, name), text);
      return join(dir, name);
    };
    const config = file('avahi.conf', '[server]\nhost-name=avahi-host\nuse-ipv4=yes\nuse-ipv6=yes\nenable-dbus=yes\n');
    // It wants a user of its own and a place in /run, which only its own view of the files gets.
    const users = file('passwd', 'root:x:0:0::/root:/bin/sh\navahi:x:0:0::/:/bin/false\n');
    const groups = file('group', 'root:x:0:\navahi:x:0:\n');
    const daemon = `exec ${pathOf('avahi-daemon')} -f ${config} --no-drop-root --no-chroot --no-rlimits`;
    const script = `mount -t tmpfs tmpfs /run; mount --bind ${users} /etc/passwd; mount --bind ${groups} /etc/group; ${daemon}`;
    const [command, ...args] = inside(['unshare', '--mount', 'sh', '-c', script]);
    const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'], env: environment(bus.address) });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let log = '';
    child.stderr.on('data', (chunk: Buffer) => {
      log += String(chunk);
      if (log.includes('Server startup complete')) resolve();
    });
    child.once('exit', () => reject(new RangeError(`avahi-daemon ended: ${log}`)));
    await promise;
    return new Avahi(bus, child, inside);
  }

  /** What `avahi-browse` resolves of a type now, in its parsable form. */
  async browse(type: string): Promise<readonly string[]> {
    const [command, ...args] = this.#inside([pathOf('avahi-browse') ?? '', '-rtp', type]);
    const { stdout } = await run(command, args, { env: environment(this.#bus.address), timeout: 10_000 });
    return stdout.split('\n').filter((line) => line.startsWith('='));
  }

  publish(name: string, type: string, port: number): void {
    const [command, ...args] = this.#inside([pathOf('avahi-publish') ?? '', '-s', name, type, String(port), 'a=b']);
    this.#published.push(spawn(command, args, { stdio: 'ignore', env: environment(this.#bus.address) }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of [...this.#published, this.#daemon]) {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    }
    await this.#bus[Symbol.asyncDispose]();
  }
}

function pathOf(program: string): string | undefined {
  const folders = ['/usr/sbin', '/usr/bin', join(UNPACKED, 'usr/sbin'), join(UNPACKED, 'usr/bin')];
  return folders.map((folder) => join(folder, program)).find(existsSync);
}

function environment(busAddress: string): NodeJS.ProcessEnv {
  const libraries = ['x86_64-linux-gnu', 'aarch64-linux-gnu'].map((machine) => join(UNPACKED, 'usr/lib', machine)).join(':');
  return { ...process.env, DBUS_SYSTEM_BUS_ADDRESS: busAddress, LD_LIBRARY_PATH: libraries };
}
