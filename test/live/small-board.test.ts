import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { memoryProfile } from '../../src/hub/config/memory-profile.ts';
import { RunningHub } from './running-hub.ts';

const dir = mkdtempSync(join(tmpdir(), 'small-board-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Returns the arguments with which a process runs now. */
const argumentsOf = (pid: number | undefined) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');

test('a hub with the memory profile for small boards runs with its bounds of V8 and the C library, as the process that was started', async () => {
  const stateDir = join(dir, 'small');
  await using hub = await RunningHub.start({ stateDir, config: { memory: 'small', matter: { enabled: false } } });
  expect(argumentsOf(hub.process.pid)).toEqual(expect.arrayContaining([...memoryProfile('small').nodeFlags, 'serve']));
  const environment = readFileSync(`/proc/${hub.process.pid}/environ`, 'utf8').split('\0');
  for (const [name, value] of Object.entries(memoryProfile('small').environment)) expect(environment).toContain(`${name}=${value}`);
  expect(await hub.call('core:echo', { value: 'here' })).toMatchObject({ status: 'success' });
  expect(await hub.stop()).toBe(0);
});

test('without the profile it runs as it was started', async () => {
  const stateDir = join(dir, 'normal');
  await using hub = await RunningHub.start({ stateDir, config: { matter: { enabled: false } } });
  for (const flag of memoryProfile('small').nodeFlags) expect(argumentsOf(hub.process.pid)).not.toContain(flag);
});
