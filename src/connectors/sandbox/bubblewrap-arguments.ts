import { lstatSync, readlinkSync } from 'node:fs';

/** What a sandboxed program sees and may use; absolute paths of the host. */
export interface SandboxView {
  readonly read: readonly string[];
  readonly write: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly hasNetwork: boolean;
  /** False where the kernel lets nobody mount a /proc of its own, as inside of many containers. */
  readonly hasProc: boolean;
  readonly cwd: string;
  /** Of each of the two folders that it can write by itself. */
  readonly tempBytes: number;
}

/** Limits that the kernel keeps for each process by itself (getrlimit(2)). */
export interface ProcessLimits {
  readonly processes: number;
  readonly cpuSeconds: number;
  /** Longest file. */
  readonly fileBytes: number;
  /** Data and heap; absent for runtimes that reserve more than they use. */
  readonly dataBytes?: number;
}

/** Where programs are looked for inside. */
export const PROGRAM_PATH = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];
const SYSTEM = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];
const SETTINGS = ['/etc/ld.so.cache', '/etc/alternatives', '/etc/localtime', '/usr/share/zoneinfo'];
const NETWORK_SETTINGS = ['/etc/resolv.conf', '/etc/hosts', '/etc/nsswitch.conf', '/etc/ssl', '/etc/ca-certificates', '/etc/services'];
/** nobody and nogroup of Debian. */
const NOBODY = '65534';
const OPEN_FILES = 256;

/** Options of bwrap(1): namespaces of its own, no rights, nothing but the system's programs and what the view says. */
export function bubblewrapOptions(view: SandboxView): readonly string[] {
  return [
    ...['--unshare-all', '--unshare-user', '--disable-userns', '--uid', NOBODY, '--gid', NOBODY, '--hostname', 'sandbox'],
    ...(view.hasNetwork ? ['--share-net'] : []),
    ...['--die-with-parent', '--new-session', '--cap-drop', 'ALL', '--clearenv'],
    ...['--ro-bind', '/usr', '/usr', ...SYSTEM.flatMap(systemFolder)],
    ...[...SETTINGS, ...(view.hasNetwork ? NETWORK_SETTINGS : [])].flatMap((path) => ['--ro-bind-try', path, path]),
    ...(view.hasProc ? ['--proc', '/proc', '--remount-ro', '/proc'] : []),
    ...['--dev', '/dev', '--remount-ro', '/dev'],
    ...['/dev/shm', '/tmp'].flatMap((folder) => ['--size', String(view.tempBytes), '--tmpfs', folder]),
    ...view.read.flatMap((path) => ['--ro-bind', path, path]),
    ...view.write.flatMap((path) => ['--bind', path, path]),
    // The folders that bubblewrap makes for all these would be memory without a bound.
    ...['--remount-ro', '/', '--chdir', view.cwd],
    ...Object.entries({ PATH: PROGRAM_PATH.join(':'), HOME: '/tmp', LANG: 'C.UTF-8', ...view.env }).flatMap(([name, value]) => [
      '--setenv',
      name,
      value,
    ]),
  ];
}

/** The command line of prlimit(1) in front of a program, which has to run inside: only there its processes are counted apart. */
export function limitedCommand(limits: ProcessLimits, command: readonly string[]): readonly string[] {
  const bounds = {
    // The two that bubblewrap itself needs.
    nproc: limits.processes + 2,
    cpu: limits.cpuSeconds,
    fsize: limits.fileBytes,
    nofile: OPEN_FILES,
    core: 0,
    ...(limits.dataBytes !== undefined && { data: limits.dataBytes }),
  };
  return ['/usr/bin/prlimit', ...Object.entries(bounds).map(([name, bound]) => `--${name}=${bound}:${bound}`), '--', ...command];
}

/** Links into /usr on the systems of today. */
function systemFolder(path: string): readonly string[] {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (!stat) return [];
  return stat.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path];
}
