import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { median, quantile } from '../../scripts/bench/statistics.ts';

const BENCH = join(import.meta.dirname, '../../scripts/bench.ts');
const bench = (...args: string[]) => spawnSync(process.execPath, [BENCH, ...args], { encoding: 'utf8' });

describe('benchmarks', () => {
  test('each one that is listed exists', () => {
    const { status, stdout } = bench('--list');
    const names = stdout
      .trim()
      .split('\n')
      .map((line) => line.split(' ')[0] ?? '');
    expect(status).toBe(0);
    expect(names).toEqual([
      'local',
      'memory',
      'rest',
      'start',
      'fleet',
      'registry',
      'access',
      'audit',
      'codec',
      'mesh',
      'bridge',
      'bridged',
      'link',
      'idle',
      'announce',
      'mcp',
      'search',
      'page',
      'sensors',
      'sandbox',
      'connectors',
      'replay',
      'storage',
      'soak',
      'small',
      'profiles',
      'wear',
    ]);
    expect(names.filter((name) => !existsSync(join(BENCH, `../bench/${name}.ts`)))).toEqual([]);
  });

  test('an unknown name lists the known ones and exits 2', () => {
    const { status, stdout } = bench('speed');
    expect(status).toBe(2);
    expect(stdout).toContain('local');
  });

  test('the median is the middle value and the high quantiles lie above it', () => {
    const values = [5, 1, 4, 2, 3];
    expect(median(values)).toBe(3);
    expect(quantile(values, 0.99)).toBe(5);
    expect(() => median([])).toThrow('no sample');
  });
});
