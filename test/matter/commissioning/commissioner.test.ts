import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { CommissionRequest } from '../../../src/core/devices/device-administration.ts';
import { CommissioningHub } from '../commissioning-hub.ts';
import { MemoryStore } from '../memory-store.ts';

let dir: string;
let hub: CommissioningHub;
const store = new MemoryStore();

// The Matter node is not started: what is refused here is refused before any device or network is touched.
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'commissioner-'));
  hub = new CommissioningHub({ stateDir: dir, store });
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

async function refusal(request: CommissionRequest) {
  const outcome = await hub.commission(request);
  if ('result' in outcome) expect.unreachable('it was accepted');
  return outcome.error;
}

describe('a request to commission', () => {
  test('needs a code, or a passcode with a discriminator or an address', async () => {
    expect((await refusal({})).message).toContain('Give a setup code');
    expect((await refusal({ passcode: 20202021 })).message).toContain('add its discriminator or its address');
    expect((await refusal({ code: '123' })).code).toBe('VALIDATION_ERROR');
  });

  test('with the code of a bridge of the hub itself is refused, whatever form the code has', async () => {
    hub.bridgePasscodes.add(20202021);
    for (const request of [{ code: 'MT:Y.K90AFN00KA0648G00' }, { code: '34970112332' }, { passcode: 20202021, discriminator: 3840 }]) {
      expect((await refusal(request)).message, JSON.stringify(request)).toContain('a bridge of this hub itself');
    }
  });

  test('with unknown credentials is refused, also where Bluetooth is off', async () => {
    expect((await refusal({ code: 'MT:Y.K90AFN00KA0648G00', wifi: 'home' })).code).toBe('NOT_FOUND');
    hub.credentials.setWifi('home', 'Our place', '');
    expect((await refusal({ code: 'MT:Y.K90AFN00KA0648G00', wifi: 'home' })).code).toBe('NOT_CONFIGURED');
  });

  test('a device that is not half commissioned cannot be forgotten', () => {
    expect(() => hub.commissioner.forget('x')).toThrow(expect.objectContaining({ code: 'NOT_FOUND' }));
  });

  test('a half commissioned device stays until it is forgotten', () => {
    store.set('commissioning', 'entry', { nodeId: '5', startedAtMs: 1, stage: 'completing', fault: 'not reachable' });
    expect(hub.commissioner.halfCommissioned().map(({ id }) => id)).toEqual(['entry']);
    hub.commissioner.forget('entry');
    expect(hub.commissioner.halfCommissioned()).toEqual([]);
  });
});
