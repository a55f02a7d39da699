import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROOT } from '../../scripts/bundle.ts';
import { LabMesh, untilComplete } from './mesh/lab-mesh.ts';
import { runsOf } from './mesh/lab-tools.ts';
import type { MeshHub } from './mesh/mesh-hub.ts';

/** The commit whose hub is the older one: 0.1.0 of the first day on which a hub undoes what a newer version changed in its databases. */
const OLDER = '4a238961';
const BUILD_LIMIT_MS = 180_000;
const FOLDER = join(ROOT, '.run/older', OLDER);
const PROGRAM = join(FOLDER, 'dist/atmo.mjs');

function isInHistory(): boolean {
  try {
    execFileSync('git', ['-C', ROOT, 'cat-file', '-e', `${OLDER}^{commit}`], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Bundles the older hub from the history, once, with the packages of now. */
function buildOlder(): void {
  if (existsSync(PROGRAM)) return;
  const work = `${FOLDER}.${process.pid}`;
  mkdirSync(work, { recursive: true });
  try {
    const archive = execFileSync('git', ['-C', ROOT, 'archive', OLDER, 'src', 'scripts', 'device-profiles', 'package.json'], {
      maxBuffer: 256 * 1024 * 1024,
    });
    execFileSync('tar', ['-x', '-C', work], { input: archive });
    symlinkSync(join(ROOT, 'node_modules'), join(work, 'node_modules'));
    const build = `const { bundle } = await import('./scripts/bundle.ts'); await bundle({ entry: 'src/main.ts', outDir: 'dist', name: 'atmo' });`;
    execFileSync(process.execPath, ['--input-type=module', '--eval', build], { cwd: work });
    renameSync(work, FOLDER);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

const isThere = isInHistory();

describe.skipIf(!isThere)(`a hub and an older one in one mesh${isThere ? '' : ' (skipped: the history has no older hub)'}`, () => {
  let mesh: LabMesh;
  let newer: MeshHub;
  let older: MeshHub;

  beforeAll(async () => {
    buildOlder();
    mesh = await new LabMesh().start();
    [older, newer] = (await mesh.addMesh(2, { program: [PROGRAM, 'serve'] })) as [MeshHub, MeshHub];
  }, BUILD_LIMIT_MS);
  afterAll(() => mesh?.[Symbol.asyncDispose]());

  test(
    'call each other after one of them was upgraded, and after it went back',
    async () => {
      for (const program of ['newer', 'older'] as const) {
        await newer.stop();
        await newer.startAs(program === 'newer' ? undefined : [PROGRAM, 'serve']);
        await untilComplete([older, newer]);
        const there = await newer.call('lab:count_n1', { ticket: `to older as ${program}` });
        expect(there).toMatchObject({ status: 'success', execution: { node_id: older.id } });
        const back = await older.call('lab:count_n2', { ticket: `from older as ${program}` });
        expect(back).toMatchObject({ status: 'success', execution: { node_id: newer.id } });
      }
      expect(runsOf(older.stateDir)).toEqual(['to older as newer', 'to older as older']);
      expect(runsOf(newer.stateDir)).toEqual(['from older as newer', 'from older as older']);
    },
    BUILD_LIMIT_MS,
  );
});
