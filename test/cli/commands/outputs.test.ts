import { expect, test } from 'vitest';
import { atmo } from '../cli-fixture.ts';

test('the outcome of outputs is one line, or none without outputs; the exit code is 0', async () => {
  const told = async (safe: readonly string[], missed: readonly string[]) =>
    atmo(['outputs', 'safe'], { safeOutputs: async () => ({ safe, missed }) });
  expect(await told(['pump off', 'fan on'], ['siren (in use)'])).toMatchObject({
    code: 0,
    out: 'outputs safe: pump off, fan on; not set: siren (in use)\n',
  });
  expect(await told([], ['siren (in use)'])).toMatchObject({ code: 0, out: 'outputs not set: siren (in use)\n' });
  expect(await told([], [])).toMatchObject({ code: 0, out: '' });
});
