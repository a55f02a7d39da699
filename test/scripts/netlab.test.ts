import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';

const NETLAB = join(import.meta.dirname, '../../scripts/netlab.ts');
const dir = mkdtempSync(join(tmpdir(), 'netlab-'));
const netlab = (...args: string[]) =>
  spawnSync(process.execPath, [NETLAB, ...args], { encoding: 'utf8', env: { ...process.env, NETLAB_DIR: dir } });

afterAll(() => rmSync(dir, { recursive: true }));

describe('scripts/netlab', () => {
  test.each([[], ['sideways'], ['3'], ['3', '--'], ['3', 'true'], ['up'], ['up', '0'], ['up', 'many']])(
    'explains itself and exits 2 for %j',
    (...args) => {
      const { status, stderr } = netlab(...args);
      expect([status, stderr.split(' ')[0]]).toEqual([2, 'usage:']);
    },
  );

  test('says that no lab is up where one is needed', () => {
    const { status, stderr } = netlab('run', 'n1', '--', 'true');
    expect(status).toBe(1);
    expect(stderr).toContain('netlab up N');
  });

  test('takes nothing down where nothing is up', () => {
    expect(netlab('down').status).toBe(0);
  });
});
