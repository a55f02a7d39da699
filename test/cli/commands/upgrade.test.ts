import { expect, test } from 'vitest';
import type { UpgradeOutcome } from '../../../src/cli/cli-io.ts';
import { atmo } from '../cli-fixture.ts';

const OUTCOME = { step: 'rolled-back', from: '0.1.0', to: '0.2.0' };
const unused = () => Promise.reject(new Error('not asked'));
const back = (outcome: UpgradeOutcome | undefined) =>
  atmo(['upgrade', 'back'], { upgrade: { goBack: async () => outcome, watch: unused } });

test('the version before is installed again, or the reason why not is said', async () => {
  expect(await back(OUTCOME)).toMatchObject({ code: 0, out: '0.1.0 is installed again\n' });
  expect((await back({ ...OUTCOME, step: 'stayed' })).err).toContain('its files were removed');
  expect((await back({ ...OUTCOME, step: 'watching' })).err).toContain('an upgrade to 0.2.0 has begun in the meantime');
  expect((await back({ ...OUTCOME, step: 'rolling-back' })).err).toContain('journalctl -u atmosphere-edge-upgrade');
  expect((await back(undefined)).err).toContain('No upgrade of the package is known');
});

test('what systemd runs says nothing of its own: the watch itself reports', async () => {
  const watched = await atmo(['upgrade', 'watch'], { upgrade: { watch: async () => OUTCOME, goBack: unused } });
  expect(watched).toMatchObject({ code: 0, out: '' });
});
