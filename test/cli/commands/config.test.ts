import { expect, test } from 'vitest';
import { atmo } from '../cli-fixture.ts';

const configCheck = async (file = '/etc/atmosphere-edge/config.yaml') =>
  file.includes('wrong') ? { file, problem: `${file}, line 3: http.port must be integer` } : { file };

test('a checked file is told with its first mistake, and the exit code says so', async () => {
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

test('a reload tells what holds now and what waits for a restart', async () => {
  const result = { applied: ['log'], needs_restart: ['http.port'] };
  const fetch = () => Promise.resolve(Response.json({ status: 'success', result }));
  const { out } = await atmo(['config', 'reload'], { fetch });
  expect(out).toContain('holds from now on: log');
  expect(out).toContain('after a restart: http.port');
});
