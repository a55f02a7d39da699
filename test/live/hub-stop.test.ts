import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { RunningHub } from './running-hub.ts';

/** Calls are waited for 10 s, and the rest of a stop takes a second or two. */
const STOP_LIMIT_MS = 15_000;
/** Until then the search has begun. */
const BEGUN_MS = 1_500;

test('a hub that is stopped while it searches for a device to commission ends in order, and leaves no lock', async () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'hub-stop-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  const hub = await RunningHub.start({ stateDir });
  const call = hub.call('hub:commission_device', { code: '34970112332', name: 'Nobody', accept_attestation: true }).catch(() => undefined);
  await sleep(BEGUN_MS);
  const startMs = performance.now();
  expect(await hub.stop()).toBe(0);
  expect(performance.now() - startMs).toBeLessThan(STOP_LIMIT_MS);
  expect(await call).toMatchObject({
    status: 'error',
    error: { code: 'CANCELLED', message: expect.stringContaining('the hub is stopping') },
  });
  const again = await RunningHub.start({ stateDir });
  expect([...hub.log, ...again.log].filter((line) => line.includes('orphaned lock'))).toEqual([]);
  expect(await again.stop()).toBe(0);
}, 60_000);
