/**
 * What a 64-bit ARM board in QEMU is made of: QEMU and dtc of this machine's Debian, the kernel and libc of Debian's arm64 port, Node and
 * koffi for arm64. All of it is fetched once into `.run/gpio-proof`; nothing is installed, and the system's architectures stay as they are.
 */
import { execFile } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../bundle.ts';
import { debianArchitecture } from '../package/debian-architecture.ts';
import { machinePackage } from '../package/machine-package.ts';

const execute = promisify(execFile);
const FOLDER = join(ROOT, '.run/gpio-proof');
const DOWNLOAD_LIMIT_MS = 300_000;
/** The line of kernels that Raspberry Pi OS has, else what Debian has as its own. */
const KERNELS = ['linux-image-6.12-arm64', 'linux-image-arm64'];
const GUEST_PACKAGES = ['busybox-static', 'libc6', 'libstdc++6', 'libgcc-s1', 'libatomic1'];

/** Where the parts are. */
export interface Arm64Parts {
  readonly qemu: string;
  /** Folder with the firmware of QEMU. */
  readonly qemuData: string;
  readonly fdtput: string;
  /** Environment that finds the libraries of both. */
  readonly env: NodeJS.ProcessEnv;
  readonly kernel: string;
  /** Files of the guest by their paths in it: busybox, libraries, Node, koffi. */
  readonly root: string;
}

/** The parts, where they were fetched before. */
export function findArm64Parts(): Arm64Parts | undefined {
  const tools = join(FOLDER, 'tools');
  const [kernel] = globSync(join(FOLDER, 'kernel/boot/vmlinuz-*'));
  const root = join(FOLDER, 'root');
  if (kernel === undefined || !existsSync(tools) || !existsSync(root)) return undefined;
  const libraries = globSync(['usr/lib/*-linux-gnu', 'lib/*-linux-gnu', 'usr/lib/*-linux-gnu/pulseaudio'], { cwd: tools });
  return {
    qemu: join(tools, 'usr/bin/qemu-system-aarch64'),
    qemuData: join(tools, 'usr/share/qemu'),
    fdtput: join(tools, 'usr/bin/fdtput'),
    env: { ...process.env, LD_LIBRARY_PATH: libraries.map((folder) => join(tools, folder)).join(delimiter) },
    kernel,
    root,
  };
}

/** Fetches what is missing. Rejects with what apt or npm says where it cannot be had; needs a Debian, its network and the npm registry. */
export async function fetchArm64Parts(): Promise<void> {
  await part('tools', unpackTools);
  await part('kernel', unpackKernel);
  await part('root', unpackRoot);
}

/** A folder that is there whole or not at all. */
async function part(name: string, fill: (folder: string) => Promise<void>): Promise<void> {
  const folder = join(FOLDER, name);
  if (existsSync(folder)) return;
  const work = join(FOLDER, `${name}.${process.pid}`);
  mkdirSync(work, { recursive: true });
  try {
    await fill(work);
    renameSync(work, folder);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** QEMU with those libraries that this machine has not; firmware and libraries of an installed QEMU would do as well. */
async function unpackTools(folder: string): Promise<void> {
  const plan = await run('apt-get', [
    'install',
    '--simulate',
    '--no-install-recommends',
    '--reinstall',
    'qemu-system-arm',
    'device-tree-compiler',
  ]);
  const packages = [...plan.matchAll(/^Inst (\S+)/gm)].map(([, name = '']) => name);
  await unpackPackages(folder, packages, []);
}

async function unpackKernel(folder: string): Promise<void> {
  const apt = await arm64Apt();
  const image = await firstImage(apt);
  await download(folder, [image], apt);
  // The modules are ten times as large, and the guest needs none.
  const [file = ''] = globSync(join(folder, '*.deb'));
  await run('sh', ['-c', 'dpkg --fsys-tarfile "$0" | tar -x -C "$1" --wildcards "./boot/vmlinuz*"', file, folder]);
  rmSync(file);
}

/** The kernel that a metapackage stands for. */
async function firstImage(apt: readonly string[]): Promise<string> {
  for (const name of KERNELS) {
    const depends = await run('apt-cache', [...apt, 'depends', name]).catch(() => '');
    const image = /Depends: (linux-image-\S+)/.exec(depends)?.[1];
    if (image !== undefined) return image;
  }
  throw new Error(`Debian has none of ${KERNELS.join(', ')}`);
}

async function unpackRoot(folder: string): Promise<void> {
  await unpackPackages(folder, GUEST_PACKAGES, await arm64Apt());
  const { nodePackage, koffiPackage } = debianArchitecture('arm64');
  cpSync(await machinePackage(nodePackage), join(folder, 'node'), { recursive: true });
  cpSync(await machinePackage(koffiPackage), join(folder, 'koffi-linux-arm64'), { recursive: true });
}

async function unpackPackages(folder: string, packages: readonly string[], apt: readonly string[]): Promise<void> {
  await download(folder, packages, apt);
  for (const file of globSync(join(folder, '*.deb'))) {
    await run('dpkg', ['-x', file, folder]);
    rmSync(file);
  }
}

async function download(folder: string, packages: readonly string[], apt: readonly string[]): Promise<void> {
  await run('sh', ['-c', 'cd "$0" && exec apt-get -q "$@"', folder, ...apt, 'download', ...packages]);
}

/** Options that make apt look at arm64 with lists of its own, from the sources that the machine has. */
async function arm64Apt(): Promise<readonly string[]> {
  const state = join(FOLDER, 'apt');
  mkdirSync(join(state, 'lists/partial'), { recursive: true });
  mkdirSync(join(state, 'cache/archives/partial'), { recursive: true });
  writeFileSync(join(state, 'status'), '');
  const settings = {
    'Dir::State': state,
    'Dir::State::status': join(state, 'status'),
    'Dir::Cache': join(state, 'cache'),
    'APT::Architecture': 'arm64',
    'APT::Architectures': 'arm64',
    'Acquire::Languages': 'none',
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  if (globSync(join(state, 'lists/*Packages*')).length === 0) await run('apt-get', ['-q', ...options, 'update']);
  return options;
}

async function run(command: string, args: readonly string[]): Promise<string> {
  const { stdout } = await execute(command, args, { timeout: DOWNLOAD_LIMIT_MS, maxBuffer: 16 * 1024 * 1024 });
  return stdout;
}
