import { expect, test } from 'vitest';
import { atmo } from '../cli-fixture.ts';

const configCheck = async (file = '/etc/atmosphere-edge/config.yaml') =>
  file.includes('wrong') ? { file, problem: `${file}, line 3: http.port must be integer` } : { file };

test('a check prints the first mistake of a file, and exits with 2', async () => {
  expect(await atmo(['config', 'check'], { configCheck })).toMatchObject({
    code: 0,
    out: '/etc/atmosphere-edge/config.yaml: no mistakes\n',
  });
  expect(await atmo(['config', 'check', 'wrong.yaml'], { configCheck })).toMatchObject({ code: 2, out: expect.stringContaining('line 3') });
  expect((await atmo(['config', 'check', 'wrong.yaml', '--json'], { configCheck })).json()).toMatchObject({
    ok: false,
    file: 'wrong.yaml',
  });
});

test('a reload prints the keys that are applied and those that wait for a restart', async () => {
  const result = { applied: ['log'], needs_restart: ['http.port'] };
  const fetch = () => Promise.resolve(Response.json({ status: 'success', result }));
  const { out } = await atmo(['config', 'reload'], { fetch });
  expect(out).toContain('holds from now on: log');
  expect(out).toContain('after a restart: http.port');
});
