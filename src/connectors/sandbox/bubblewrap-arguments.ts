import { lstatSync, readlinkSync } from 'node:fs';
import { dirname } from 'node:path';

/** What a sandboxed program sees and may use; absolute paths of the host. */
export interface SandboxView {
  readonly read: readonly string[];
  readonly write: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly hasNetwork: boolean;
  /** False where the kernel lets nobody mount a /proc of its own, as inside of many containers. */
  readonly hasProc: boolean;
  /** True for a hub that runs as root: bubblewrap makes no namespace of users, and the program gives up root by itself. */
  readonly isRoot: boolean;
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
  /** Programs at a time that are counted together, as those of a hub are that runs as root; 1 when absent. */
  readonly together?: number;
}

/** Where programs are looked for inside. */
export const PROGRAM_PATH = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];
const SYSTEM = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];
const SETTINGS = ['/etc/ld.so.cache', '/etc/alternatives', '/etc/localtime', '/usr/share/zoneinfo'];
const NETWORK_SETTINGS = ['/etc/resolv.conf', '/etc/hosts', '/etc/nsswitch.conf', '/etc/ssl', '/etc/ca-certificates', '/etc/services'];
/** nobody and nogroup of Debian. */
const NOBODY = '65534';
const OPEN_FILES = 256;
const AS_USER = ['--unshare-user', '--disable-userns', '--uid', NOBODY, '--gid', NOBODY, '--cap-drop', 'ALL'];
/** What is left is what it takes to become nobody. */
const AS_ROOT = ['--cap-drop', 'ALL', '--cap-add', 'CAP_SETUID', '--cap-add', 'CAP_SETGID', '--cap-add', 'CAP_SETPCAP'];
const BECOME_NOBODY = [
  ...['/usr/bin/setpriv', '--reuid', NOBODY, '--regid', NOBODY, '--clear-groups'],
  ...['--no-new-privs', '--inh-caps=-all', '--bounding-set=-all', '--'],
];

/** Options of bwrap(1): namespaces of its own, no rights, nothing but the system's programs and what the view says. */
export function bubblewrapOptions(view: SandboxView): readonly string[] {
  return [
    ...(view.isRoot ? AS_ROOT : AS_USER),
    ...(view.hasNetwork ? [] : ['--unshare-net']),
    ...['--unshare-ipc', '--unshare-pid', '--unshare-uts', '--unshare-cgroup-try', '--hostname', 'sandbox'],
    ...['--die-with-parent', '--new-session', '--clearenv'],
    ...['--ro-bind', '/usr', '/usr', ...SYSTEM.flatMap(systemFolder)],
    ...['--perms', '0755', '--dir', '/etc'],
    ...[...SETTINGS, ...(view.hasNetwork ? NETWORK_SETTINGS : [])].flatMap((path) => ['--ro-bind-try', path, path]),
    ...(view.hasProc ? ['--proc', '/proc', '--remount-ro', '/proc'] : []),
    ...['--dev', '/dev', '--remount-ro', '/dev'],
    ...['/dev/shm', '/tmp'].flatMap((folder) => ['--perms', '1777', '--size', String(view.tempBytes), '--tmpfs', folder]),
    ...view.read.flatMap((path) => [...foldersTo(path), '--ro-bind', path, path]),
    ...view.write.flatMap((path) => [...foldersTo(path), '--bind', path, path]),
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
export function limitedCommand(
  limits: ProcessLimits,
  { isRoot }: Pick<SandboxView, 'isRoot'>,
  command: readonly string[],
): readonly string[] {
  const bounds = {
    // The two that bubblewrap itself needs.
    nproc: (limits.processes + 2) * (limits.together ?? 1),
    cpu: limits.cpuSeconds,
    fsize: limits.fileBytes,
    nofile: OPEN_FILES,
    core: 0,
    ...(limits.dataBytes !== undefined && { data: limits.dataBytes }),
  };
  // The kernel counts no processes of root.
  return [
    ...(isRoot ? BECOME_NOBODY : []),
    '/usr/bin/prlimit',
    ...Object.entries(bounds).map(([name, bound]) => `--${name}=${bound}:${bound}`),
    '--',
    ...command,
  ];
}

/** Folders that are made by themselves belong to the hub's user alone. */
function foldersTo(path: string): readonly string[] {
  const parent = dirname(path);
  return parent === '/' || parent.startsWith('/usr') ? [] : [...foldersTo(parent), '--perms', '0755', '--dir', parent];
}

/** Links into /usr on the systems of today. */
function systemFolder(path: string): readonly string[] {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (!stat) return [];
  return stat.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path];
}
