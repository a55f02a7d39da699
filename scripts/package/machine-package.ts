/** Packages of npm for another machine than this one: npm leaves them out of node_modules, the lock has their hashes all the same. */
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { AtmoError } from '../../src/core/errors.ts';
import { ROOT } from '../bundle.ts';
import { runTool } from '../network-lab/run-tool.ts';

const CACHE = join(ROOT, '.run/machine-packages');

interface LockedPackage {
  readonly version: string;
  /** `sha512-` and base64, as Subresource Integrity writes it. */
  readonly integrity: string;
}

/**
 * Folder with a package as package-lock.json wants it: that of node_modules, else one that npm downloads and this checks
 * against the lock. Throws SERVICE_REFUSED for other bytes than the locked ones; rejects without the registry.
 */
export async function machinePackage(name: string): Promise<string> {
  const installed = join(ROOT, 'node_modules', name);
  if (existsSync(join(installed, 'package.json'))) return installed;
  const { version, integrity } = lockedPackage(name);
  const place = join(CACHE, `${name.replaceAll('/', '+')}@${version}`);
  if (!existsSync(place)) await download(`${name}@${version}`, integrity, place);
  return place;
}

function lockedPackage(name: string): LockedPackage {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as { packages: Record<string, LockedPackage> };
  const locked = lock.packages[`node_modules/${name}`];
  if (locked) return locked;
  throw new AtmoError('NOT_FOUND', `package-lock.json has no ${name}; run npm install`);
}

async function download(specifier: string, integrity: string, place: string): Promise<void> {
  const work = `${place}.${randomUUID()}`;
  mkdirSync(work, { recursive: true });
  try {
    const answer = await runTool('npm', ['pack', '--silent', '--json', '--ignore-scripts', '--pack-destination', work, specifier]);
    const [packed] = JSON.parse(answer) as readonly { filename: string }[];
    const file = join(work, packed?.filename.replace(/^@/, '').replaceAll('/', '-') ?? '');
    const [algorithm = '', hash] = integrity.split('-');
    if (createHash(algorithm).update(readFileSync(file)).digest('base64') !== hash) {
      throw new AtmoError('SERVICE_REFUSED', `${specifier} from the registry is not what package-lock.json names; nothing was packed`);
    }
    await runTool('tar', ['-xf', file, '-C', work, '--no-same-owner']);
    renameSync(join(work, 'package'), place);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
