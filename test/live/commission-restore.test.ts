import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { VirtualHome } from '../home/virtual-home.ts';
import { CommissioningHub } from '../matter/commissioning-hub.ts';
import { MemoryStore } from '../matter/memory-store.ts';

const NAME = 'Lamp';
const dir = mkdtempSync(join(tmpdir(), 'commission-restore-'));
const stateDir = join(dir, 'matter');
const database = join(stateDir, 'hub', 'storage.db');
let home: VirtualHome;

beforeAll(async () => {
  const device = { name: NAME, type: 'dimmable-light', area: 'Test', passcode: 20202099, discriminator: 99, port: 5599 };
  home = await VirtualHome.start({ spec: { devices: [device] }, dir: join(dir, 'home') });
});
afterAll(async () => {
  await home[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

async function startedHub(): Promise<CommissioningHub> {
  const hub = new CommissioningHub({ stateDir, store: new MemoryStore() });
  await hub.start();
  return hub;
}

describe('a home after its storage was damaged', () => {
  let fabricId = '';

  test('is set up with one lamp', async () => {
    await using hub = await startedHub();
    fabricId = String(hub.node.fabric.fabricId);
    const outcome = await hub.commission({ code: home.device(NAME).pairing.qrCode });
    if ('error' in outcome) throw outcome.error;
  });

  test('comes back with the same fabric, and the lamp is controlled without commissioning it again', async () => {
    writeFileSync(database, readFileSync(database).fill(0, 0, 4096));
    await using hub = await startedHub();
    expect(hub.logLines.join()).toContain('matter.storage_restored');
    expect(String(hub.node.fabric.fabricId)).toBe(fabricId);
    const [peer] = hub.node.commissionedPeers();
    await expect.poll(() => peer?.lifecycle.isOnline && peer.endpoints.has(1), { timeout: 20_000 }).toBe(true);
    await peer?.endpoints.for(1).commandsOf('onOff').on?.(undefined);
    expect(await home.device(NAME).get(1, 'OnOff', 'OnOff')).toBe(true);
  });

  test('is refused, and nothing new is made, when no copy is good', async () => {
    writeFileSync(database, 'nonsense');
    rmSync(join(stateDir, 'snapshots'), { recursive: true });
    await expect(startedHub()).rejects.toMatchObject({
      code: 'STORAGE_FAILED',
      message: expect.stringContaining('your own copy of the state directory'),
    });
    expect(readFileSync(database, 'utf8')).toBe('nonsense');
    expect(existsSync(join(stateDir, 'fabric.json'))).toBe(true);
  });
});
