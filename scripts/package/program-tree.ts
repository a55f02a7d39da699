/** The program as it stands below /usr/lib/atmosphere-edge: everything that it needs, whatever else is on the machine. */
import { chmodSync, cpSync, mkdirSync, statSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { buildPage } from '../build-page.ts';
import { bundle, ROOT } from '../bundle.ts';
import type { DebianArchitecture } from './debian-architecture.ts';
import { machinePackage } from './machine-package.ts';

const AS_THEY_ARE = ['device-profiles', 'docs', 'package.json', 'README.md', 'CHANGELOG.md', 'SECURITY.md', 'LICENSE', 'scripts/atmo'];
/** Of koffi: neither its C++ sources nor what builds them. */
const KOFFI_FILES = new Set(['.js', '.cjs', '.json', '.txt', '.node']);

/** Bundles the program and lays it out in the folder `program` with Node and koffi of that machine. */
export async function layOutProgram(program: string, architecture: DebianArchitecture): Promise<void> {
  await bundle({ entry: 'src/main.ts', outDir: join(program, 'dist'), name: 'atmo' });
  await buildPage(join(program, 'dist/page'));
  for (const path of AS_THEY_ARE) copy(join(ROOT, path), join(program, path));
  copy(join(await machinePackage(architecture.nodePackage), 'bin/node'), join(program, 'bin/node'));
  chmodSync(join(program, 'bin/node'), 0o755);
  for (const name of ['koffi', architecture.koffiPackage]) {
    copy(await machinePackage(name), join(program, 'node_modules', name), isOfKoffi);
  }
}

function isOfKoffi(path: string): boolean {
  if (path.endsWith('/vendor') || path.endsWith('/doc') || path.includes('musl')) return false;
  return statSync(path).isDirectory() || KOFFI_FILES.has(extname(path));
}

function copy(from: string, to: string, filter: (path: string) => boolean = () => true): void {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to, { recursive: true, dereference: true, filter });
}
