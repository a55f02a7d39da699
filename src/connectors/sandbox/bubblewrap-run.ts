import { type ChildProcess, spawn } from 'node:child_process';
import { lstatSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { dirname } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import type { ProgramResult } from '../../tools/programs/program-sandbox.ts';
import { seccompFilter } from './seccomp-filter.ts';

/** A command that bubblewrap runs in a sandbox. */
interface BubblewrapRun {
  /** Path of bwrap. */
  readonly bubblewrap: string;
  readonly options: readonly string[];
  readonly command: readonly string[];
  /** True if the command shares the network of the machine. */
  readonly hasNetwork: boolean;
  readonly stdin?: string;
  readonly bounds: RunBounds;
  readonly signal: AbortSignal;
}

/** Limits for all processes of a run together. */
export interface RunBounds {
  readonly memoryBytes: number;
  readonly processes: number;
  readonly outputBytes: number;
}

const WATCH_EVERY_MS = 25;
/** Nice value of sandboxed programs. It gives them less processor time than the hub. */
const NICE = 15;
/** Out-of-memory score of sandboxed programs (proc(5), oom_score_adj). If memory runs out, the kernel kills them first. */
const OOM_SCORE = 1000;
const BYTES_PER_MB = 1_048_576;
/** Maximum length of bubblewrap's status message, in characters. */
const MAX_REPORT = 4096;
const NO_FILTER = Buffer.alloc(0);

/**
 * Runs a command until it ends. The kernel then ends all processes that the command started, since they are in its process namespace.
 * Rejects with RESOURCE_EXCEEDED (a limit is exceeded), NOT_CONFIGURED (bubblewrap cannot be started), VALIDATION_ERROR (an option or
 * argument contains NUL), or the signal's reason.
 */
export async function runBubblewrap(run: BubblewrapRun): Promise<ProgramResult> {
  run.signal.throwIfAborted();
  requireNoNul([...run.options, ...run.command]);
  const child = spawnBubblewrap(run);
  const end = Promise.withResolvers<number>();
  let reason: unknown;
  const stop = (why: unknown) => {
    reason ??= why;
    killNamespace(child);
  };
  const onAbort = () => stop(run.signal.reason);
  run.signal.addEventListener('abort', onAbort, { once: true });
  const { outputBytes } = run.bounds;
  const output = new BoundedOutput(outputBytes, () => {
    stop(exceeded(`The program printed more than ${outputBytes} bytes`, { max_output_bytes: outputBytes }));
  });
  const [stdout, stderr] = [child.stdout, child.stderr].map((stream) => output.collect(stream as Readable));
  const unwatch = watchUsage(child, run.bounds, stop);
  child.once('error', ({ message }) => end.reject(new AtmoError('NOT_CONFIGURED', `bubblewrap cannot be started: ${message}`)));
  child.once('close', (code) => end.resolve(code ?? 0));
  try {
    const exitCode = await end.promise;
    if (reason !== undefined) throw reason;
    return { exitCode, stdout: stdout?.() ?? '', stderr: stderr?.() ?? '' };
  } finally {
    unwatch();
    run.signal.removeEventListener('abort', onAbort);
  }
}

/** Throws VALIDATION_ERROR if a text contains NUL. NUL separates options, so such a text could add an option that exposes files. */
function requireNoNul(texts: readonly string[]): void {
  const broken = texts.find((text) => text.includes('\0'));
  if (broken === undefined) return;
  throw new AtmoError('VALIDATION_ERROR', `${JSON.stringify(broken.slice(0, 100))} holds a NUL character, which no program can be given`);
}

/** Starts bubblewrap. Passes the options through a pipe: they may contain secrets, and every user of the machine can read command lines. */
function spawnBubblewrap({ bubblewrap, options, command, hasNetwork, stdin }: BubblewrapRun): ChildProcess {
  const filter = seccompFilter(hasNetwork);
  const seccomp = filter ? ['--seccomp', '5'] : [];
  const child = spawn(bubblewrap, ['--args', '3', '--json-status-fd', '4', ...seccomp, '--', ...command], {
    stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
    env: {},
    cwd: '/',
  });
  lowerPriority(child.pid);
  const feeds: readonly [number, string | Buffer][] = [
    [0, stdin ?? ''],
    [3, options.map((option) => `${option}\0`).join('')],
    [5, filter ?? NO_FILTER],
  ];
  for (const [fd, content] of feeds) {
    const pipe = child.stdio[fd] as Writable | null;
    // If a program ends before it has read all of its input, the pipe emits an error. The error is ignored.
    pipe?.on('error', () => {});
    pipe?.end(content);
  }
  return child;
}

/** Lowers bubblewrap's processor and memory priorities. Call this before the options are sent: all children then inherit the priorities. */
function lowerPriority(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, String(OOM_SCORE));
    setPriority(pid, NICE);
  } catch {
    // The failure is ignored: the sandbox also works with the hub's priorities.
  }
}

/**
 * Kills bubblewrap and the first process in the sandbox. The kernel then ends all other processes in the sandbox (pid_namespaces(7)).
 * Killing only bubblewrap is not enough: the first process survives if it has not yet called prctl(2) with PR_SET_PDEATHSIG.
 */
function killNamespace(child: ChildProcess): void {
  const { pid } = child;
  if (pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const before = childProcesses(pid);
  child.kill('SIGKILL');
  // bubblewrap may have started the first process after `before` was read.
  for (const first of new Set([...before, ...childProcesses(pid)])) {
    try {
      process.kill(first, 'SIGKILL');
    } catch {
      // The process has already ended.
    }
  }
}

/** Checks the number and the memory of the sandboxed processes, and calls `stop` above a limit. Returns a function that ends the checks. */
function watchUsage(child: ChildProcess, bounds: RunBounds, stop: (why: unknown) => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  void firstProcess(child).then((root) => {
    if (root === undefined || isOver) return;
    timer = setInterval(() => {
      const { processes, memoryBytes } = processTreeUsage(root, bounds.processes + 2);
      if (processes > bounds.processes + 2) {
        stop(exceeded(`The program started more than ${bounds.processes} processes`, { max_processes: bounds.processes }));
      } else if (memoryBytes > bounds.memoryBytes) {
        const taken = `The program took more than ${Math.round(bounds.memoryBytes / BYTES_PER_MB)} MB of memory`;
        stop(exceeded(taken, { max_memory_bytes: bounds.memoryBytes }));
      }
    }, WATCH_EVERY_MS);
  });
  return () => {
    isOver = true;
    clearInterval(timer);
  };
}

/** Returns the host's id of the first process in the sandbox, from bubblewrap's status message (bwrap(1), json-status-fd). */
async function firstProcess(child: ChildProcess): Promise<number | undefined> {
  let report = '';
  const stream = child.stdio[4] as Readable;
  return new Promise((resolve) => {
    stream.on('data', (part: Buffer) => {
      if (report.length < MAX_REPORT) report += part.toString('utf8');
      const found = /"child-pid": (\d+)/.exec(report)?.[1];
      if (found !== undefined) resolve(Number(found));
    });
    stream.once('close', () => resolve(undefined));
    stream.on('error', () => resolve(undefined));
  });
}

/** Returns RESOURCE_EXCEEDED for a program that was killed because it exceeded a limit. */
export function exceeded(event: string, bound: JsonObject): AtmoError {
  return new AtmoError('RESOURCE_EXCEEDED', `${event} and was ended`, { ...bound, permanent: true });
}

/** What a sandboxed program can use: files, environment variables and network. Paths are the absolute paths on the host. */
export interface SandboxView {
  readonly read: readonly string[];
  readonly write: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly hasNetwork: boolean;
  /** True if the sandbox has a /proc of its own. In many containers, the kernel does not allow mounting one. */
  readonly hasProc: boolean;
  /** True if bubblewrap runs as root. It then creates no user namespace, and `setpriv` makes the program run as the user `nobody`. */
  readonly isRoot: boolean;
  readonly cwd: string;
  /** Size of /tmp in bytes. /dev/shm has the same size. Every program can write to both. */
  readonly tempBytes: number;
}

/** Limits that the kernel enforces (getrlimit(2)): `processes` for all processes of a user, the other limits for each single process. */
interface ProcessLimits {
  readonly processes: number;
  readonly cpuSeconds: number;
  readonly fileBytes: number;
  /** Maximum size of data and heap in bytes. Absent (no limit) for runtimes such as Node.js, which reserve more memory than they use. */
  readonly dataBytes?: number;
  /** Number of programs that may run as the same user at once; default 1. The kernel counts their processes together. */
  readonly together?: number;
}

/** Folders in which a sandboxed program finds other programs: its PATH. */
export const PROGRAM_PATH = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];
const SYSTEM = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];
const SETTINGS = ['/etc/ld.so.cache', '/etc/alternatives', '/etc/localtime', '/usr/share/zoneinfo'];
const NETWORK_SETTINGS = ['/etc/resolv.conf', '/etc/hosts', '/etc/nsswitch.conf', '/etc/ssl', '/etc/ca-certificates', '/etc/services'];
/** Id of the user `nobody` and of the group `nogroup` in Debian. */
const NOBODY = '65534';
const OPEN_FILES = 256;
const AS_USER = ['--unshare-user', '--disable-userns', '--uid', NOBODY, '--gid', NOBODY, '--cap-drop', 'ALL'];
/** Options for a hub that runs as root. They drop all capabilities except those that `setpriv` needs to become `nobody`. */
const AS_ROOT = ['--cap-drop', 'ALL', '--cap-add', 'CAP_SETUID', '--cap-add', 'CAP_SETGID', '--cap-add', 'CAP_SETPCAP'];
const BECOME_NOBODY = [
  ...['/usr/bin/setpriv', '--reuid', NOBODY, '--regid', NOBODY, '--clear-groups'],
  ...['--no-new-privs', '--inh-caps=-all', '--bounding-set=-all', '--'],
];

/**
 * Returns the options of bwrap(1). They create new namespaces and drop capabilities. The file system contains only the system's programs
 * and the paths of `view`.
 */
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
    // The root folder is in memory, without a size limit. It becomes read-only, so that no program can fill the memory with files.
    ...['--remount-ro', '/', '--chdir', view.cwd],
    ...Object.entries({ PATH: PROGRAM_PATH.join(':'), HOME: '/tmp', LANG: 'C.UTF-8', ...view.env }).flatMap(([name, value]) => [
      '--setenv',
      name,
      value,
    ]),
  ];
}

/** Returns a command line that runs `command` under prlimit(1). It must run in the sandbox: a user namespace has its own process count. */
export function withProcessLimits(
  limits: ProcessLimits,
  { isRoot }: Pick<SandboxView, 'isRoot'>,
  command: readonly string[],
): readonly string[] {
  const bounds = {
    // Two more processes are allowed, since bubblewrap itself needs two.
    nproc: (limits.processes + 2) * (limits.together ?? 1),
    cpu: limits.cpuSeconds,
    fsize: limits.fileBytes,
    nofile: OPEN_FILES,
    core: 0,
    ...(limits.dataBytes !== undefined && { data: limits.dataBytes }),
  };
  // For a hub that runs as root, the command first becomes `nobody`: the kernel does not limit the number of root's processes.
  return [
    ...(isRoot ? BECOME_NOBODY : []),
    '/usr/bin/prlimit',
    ...Object.entries(bounds).map(([name, bound]) => `--${name}=${bound}:${bound}`),
    '--',
    ...command,
  ];
}

/** Returns options that create the parent folders of a mount, open to every user. By default only the hub's user could enter them. */
function foldersTo(path: string): readonly string[] {
  const parent = dirname(path);
  return parent === '/' || parent.startsWith('/usr') ? [] : [...foldersTo(parent), '--perms', '0755', '--dir', parent];
}

/** Returns options for a system folder such as /bin. If the folder is a link (into /usr on new systems), the options create that link. */
function systemFolder(path: string): readonly string[] {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (!stat) return [];
  return stat.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path];
}

const BYTES_PER_KB = 1024;

/**
 * Returns the number of processes in a tree, and their total memory without mapped files (proc(5), RssAnon and RssShmem).
 * Stops counting above `maxProcesses`. A process that has just ended counts with no memory.
 */
function processTreeUsage(root: number, maxProcesses: number): { readonly processes: number; readonly memoryBytes: number } {
  const waiting = [root];
  let [processes, memoryBytes] = [0, 0];
  for (let pid = waiting.pop(); pid !== undefined && processes <= maxProcesses; pid = waiting.pop()) {
    processes += 1;
    memoryBytes += memoryOf(pid);
    waiting.push(...childProcesses(pid));
  }
  return { processes, memoryBytes };
}

/** Returns the ids of a process's children; none if the process has ended. The kernel lists the children of each thread separately. */
function childProcesses(pid: number): readonly number[] {
  try {
    const lists = readdirSync(`/proc/${pid}/task`).map((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8'));
    return lists.flatMap((list) => list.split(' ').filter((one) => one !== '')).map(Number);
  } catch {
    return [];
  }
}

function memoryOf(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const kilobytes = [...status.matchAll(/^Rss(?:Anon|Shmem):\s+(\d+) kB/gm)].map(([, number]) => Number(number));
    return kilobytes.reduce((sum, one) => sum + one, 0) * BYTES_PER_KB;
  } catch {
    return 0;
  }
}

/** Collects the output of a program. One limit applies to all streams together; above it, calls `onExceeded`. */
export class BoundedOutput {
  readonly #maxBytes: number;
  readonly #onExceeded: () => void;
  #bytes = 0;

  constructor(maxBytes: number, onExceeded: () => void) {
    this.#maxBytes = maxBytes;
    this.#onExceeded = onExceeded;
  }

  /** Starts to read a stream as UTF-8. Returns a function that returns the text read so far. */
  collect(stream: Readable): () => string {
    const parts: Buffer[] = [];
    stream.on('data', (part: Buffer) => {
      this.#bytes += part.length;
      if (this.#bytes <= this.#maxBytes) parts.push(part);
      else this.#onExceeded();
    });
    return () => Buffer.concat(parts).toString('utf8');
  }
}
