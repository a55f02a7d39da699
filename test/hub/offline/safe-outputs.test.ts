import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { safeOutputs } from '../../../src/hub/offline/safe-outputs.ts';

function environment(config: string) {
  const dir = mkdtempSync(join(tmpdir(), 'atmo-outputs-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  writeFileSync(join(dir, 'config.yaml'), config);
  return { ATMO_STATE_DIR: dir };
}

test('outputs are found by the configuration alone', async () => {
  const env = environment('sensors: { gpio: { backend: sim, outputs: { pump: { line: GPIO27 }, fan: { line: 4, safe: "on" } } } }');
  expect(await safeOutputs(env)).toEqual({ safe: ['pump off', 'fan on'], missed: [] });
});

test('a hub without outputs opens no chip', async () => {
  expect(await safeOutputs(environment('sensors: { gpio: { chip: /dev/none, inputs: { door: { line: 1 } } } }'))).toEqual({
    safe: [],
    missed: [],
  });
});

test('a chip that is not there and a mistake in the file are told, not thrown', async () => {
  const { missed } = await safeOutputs(environment('sensors: { gpio: { chip: /dev/none, outputs: { pump: { line: 1 } } } }'));
  expect(missed).toEqual([expect.stringContaining('all (There is no GPIO chip at /dev/none')]);
  expect((await safeOutputs(environment('log: loud'))).missed).toEqual([expect.stringContaining('line 1')]);
});
