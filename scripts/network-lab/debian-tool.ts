/**
 * Programs of Debian that the lab can use where nobody installed them: downloaded once into `.run/debian` and unpacked there.
 * The system's own packages stay as they are.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { ROOT } from '../bundle.ts';
import { installedProgram, isExecutable } from '../installed-program.ts';
import { runTool } from './run-tool.ts';

const CACHE = join(ROOT, '.run/debian');
/** The libraries are what each program needs beyond a Debian without recommended packages. */
const PACKAGES = {
  nft: ['nftables', 'libnftables1', 'libnftnl11', 'libmnl0', 'libjansson4', 'libedit2', 'libbsd0', 'libmd0', 'libxtables12'],
  serf: ['serf'],
  faketime: ['faketime', 'libfaketime'],
  zsh: ['zsh', 'zsh-common'],
  fish: ['fish', 'fish-common', 'libpcre2-32-0'],
  'redis-server': [
    'redis-server',
    'redis-tools',
    'liblzf1',
    'libjemalloc2',
    'liblua5.1-0',
    'lua-cjson',
    'lua-bitop',
    'libatomic1',
    'libhiredis0.14',
  ],
  'nats-server': ['nats-server'],
  debootstrap: ['debootstrap'],
  'systemd-nspawn': ['systemd-container'],
  umoci: ['umoci'],
  bwrap: ['bubblewrap'],
  nginx: ['nginx', 'nginx-common'],
  pebble: ['pebble'],
  'pebble-challtestsrv': ['pebble'],
  mosquitto: ['mosquitto', 'libcjson1', 'libdlt2', 'libwrap0'],
  gpsd: ['gpsd', 'libgps28', 'libusb-1.0-0', 'libbluetooth3', 'libdbus-1-3'],
} as const;

/** A program that the lab can do without, at the price of skipping what needs it. */
export type DebianToolName = keyof typeof PACKAGES;

/** How to run one. */
export interface DebianTool {
  readonly path: string;
  /** Environment that finds its libraries. */
  readonly env: NodeJS.ProcessEnv;
}

/** The program as it is installed, else as `fetchDebianTools` unpacked it; undefined where there is neither. */
export function findDebianTool(name: DebianToolName): DebianTool | undefined {
  const installed = installedProgram([name], ['/usr/sbin', '/sbin']);
  if (installed !== undefined) return { path: installed, env: process.env };
  const root = join(CACHE, name);
  const path = ['usr/sbin', 'usr/bin', 'sbin', 'bin'].map((dir) => join(root, dir, name)).find(isExecutable);
  if (path === undefined) return undefined;
  return { path, env: { ...process.env, LD_LIBRARY_PATH: libraryFolders(root).join(delimiter) } };
}

/** The library that tells a program another time, beside the program `faketime`; undefined where it is not there. */
export function fakeClockLibrary(): string | undefined {
  const tool = findDebianTool('faketime');
  return tool && globSync(join(dirname(tool.path), '../lib/*/faketime/libfaketimeMT.so.1')).find((path) => existsSync(path));
}

/** Downloads what is neither installed nor there; answers what it could not get, each with the reason. Needs the network and apt. */
export async function fetchDebianTools(): Promise<ReadonlyMap<DebianToolName, string>> {
  const failures = new Map<DebianToolName, string>();
  for (const name of Object.keys(PACKAGES) as DebianToolName[]) {
    if (findDebianTool(name)) continue;
    await fetchTool(name).catch((error: unknown) => failures.set(name, error instanceof Error ? error.message : String(error)));
  }
  return failures;
}

async function fetchTool(name: DebianToolName): Promise<void> {
  const work = join(CACHE, `${name}.${randomUUID()}`);
  mkdirSync(work, { recursive: true });
  try {
    await runTool('sh', ['-c', 'cd "$0" && exec apt-get -q download "$@"', work, ...PACKAGES[name]]);
    const root = join(work, 'root');
    for (const file of readdirSync(work).filter((file) => file.endsWith('.deb'))) await runTool('dpkg', ['-x', join(work, file), root]);
    // Whoever comes second finds it complete or not at all.
    if (!existsSync(join(CACHE, name))) renameSync(root, join(CACHE, name));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Debian keeps libraries under the name of the machine, such as `usr/lib/x86_64-linux-gnu`. */
function libraryFolders(root: string): readonly string[] {
  return ['usr/lib', 'lib']
    .map((dir) => join(root, dir))
    .filter((dir) => existsSync(dir))
    .flatMap((dir) =>
      readdirSync(dir, { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map((entry) => join(dir, entry.name)),
    );
}
