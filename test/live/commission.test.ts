import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CommissionProgress } from '../../src/core/devices/device-administration.ts';
import { AtmoError } from '../../src/core/errors.ts';
import type { DeviceSpec } from '../home/home-spec.ts';
import { VirtualHome } from '../home/virtual-home.ts';
import { CommissioningHub, type Outcome } from '../matter/commissioning-hub.ts';
import { MemoryStore } from '../matter/memory-store.ts';

const lamp = (name: string, number: number): DeviceSpec => ({
  name,
  type: 'dimmable-light',
  area: 'Test',
  passcode: 20202021 + number,
  discriminator: 0x100 * number + 5,
  port: 5540 + number,
  group: 'lamps',
});
const NAMES = ['by QR', 'by manual code', 'by address', 'by discriminator', 'refused', 'once', 'full disk'];

let dir: string;
let home: VirtualHome;
let hub: CommissioningHub;
const store = new MemoryStore();

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'commission-'));
  home = await VirtualHome.start({ spec: { devices: NAMES.map(lamp) }, dir: join(dir, 'home') });
  hub = new CommissioningHub({ stateDir: join(dir, 'hub'), store, discoveryTimeoutMs: 6_000 });
  await hub.start();
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await home[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

function succeeded(outcome: Outcome) {
  if ('error' in outcome) throw outcome.error;
  return outcome.result;
}

function failed(outcome: Outcome) {
  if ('result' in outcome) expect.unreachable('the commissioning succeeded');
  return outcome.error;
}

describe('commissioning over IP', () => {
  test('a QR code brings the device in, every step told in its order', async () => {
    const steps: CommissionProgress[] = [];
    const added: string[] = [];
    const stop = hub.node.onPeerAdded((peer) => added.push(String(peer.peerAddress?.nodeId)));
    const outcome = await hub.commission({ code: home.device('by QR').pairing.qrCode, name: 'Lamp' }, (step) => steps.push(step));
    stop();
    const result = succeeded(outcome);
    expect([...new Set(steps.map(({ step }) => step))]).toEqual([
      'parse',
      'discover',
      'connect',
      'attest',
      'join',
      'interview',
      'record',
      'done',
    ]);
    expect(result.devices.map((device) => device.name)).toEqual(['Lamp']);
    expect(result.findings.join()).toContain('trust could not be checked offline');
    expect(added).toEqual([result.nodeId]);
    const peer = hub.node.commissionedPeers().find((known) => String(known.peerAddress?.nodeId) === result.nodeId);
    await peer?.endpoints.for(1).commandsOf('onOff').on?.(undefined);
    expect(await home.device('by QR').get(1, 'OnOff', 'OnOff')).toBe(true);
    expect(store.entries('commissioning')).toEqual([]);
  });

  test('a manual code, a passcode with discriminator, and a known address do too', async () => {
    succeeded(await hub.commission({ code: home.device('by manual code').pairing.manualCode }));
    const { passcode, discriminator } = home.device('by discriminator').pairing;
    succeeded(await hub.commission({ passcode, discriminator }));
    const known = home.device('by address');
    succeeded(await hub.commission({ passcode: known.pairing.passcode, address: { host: known.address, port: known.pairing.port } }));
    expect(hub.node.commissionedPeers()).toHaveLength(4);
  });

  test('a wrong passcode is told within seconds and leaves nothing behind', async () => {
    const { discriminator } = home.device('refused').pairing;
    const startedMs = performance.now();
    const error = failed(await hub.commission({ passcode: 11223344, discriminator }));
    expect(error.code).toBe('COMMISSIONING_FAILED');
    expect(error.details).toMatchObject({ reason: 'wrong_passcode', advice: expect.stringContaining('Check the code') });
    expect(performance.now() - startedMs).toBeLessThan(15_000);
    expect(JSON.stringify(error.toBody())).not.toContain('11223344');
    expect(store.entries('commissioning')).toEqual([]);
  });

  test('a strict attestation policy refuses what cannot be proved offline, and the device can be taken right after', async () => {
    const { qrCode } = home.device('refused').pairing;
    const error = failed(await hub.commission({ code: qrCode, attestation: 'strict' }));
    expect(error.details).toMatchObject({ step: 'attest', reason: 'attestation_refused' });
    expect(JSON.stringify(error.details.findings)).toContain('trust could not be checked offline');
    expect(await home.device('refused').get(0, 'OperationalCredentials', 'CommissionedFabrics')).toBe(0);
    succeeded(await hub.commission({ code: qrCode }));
  });

  test('a device that is not there is searched for as long as set, told every few seconds', async () => {
    const notes: string[] = [];
    const error = failed(await hub.commission({ passcode: 20202020, discriminator: 4000 }, ({ note }) => notes.push(note)));
    expect(error.details).toMatchObject({ step: 'discover', reason: 'not_found' });
    expect(notes.filter((note) => note.startsWith('searching')).length).toBeGreaterThan(1);
  });

  test('a device that belongs to this home already is refused within seconds', async () => {
    const error = failed(await hub.commission({ code: home.device('by QR').pairing.qrCode }));
    expect(['not_found', 'window_closed']).toContain(error.details.reason);
  });

  test('a closed window at a known address is told', async () => {
    const { passcode, port } = home.device('by QR').pairing;
    const error = failed(await hub.commission({ passcode, address: { host: home.device('by QR').address, port } }));
    expect(error.details).toMatchObject({ step: 'connect' });
    expect(['window_closed', 'unreachable']).toContain(error.details.reason);
  });

  test('of two commissionings of the same device at once one is a conflict', async () => {
    const { qrCode, manualCode } = home.device('once').pairing;
    const outcomes = await Promise.all([hub.commission({ code: qrCode }), hub.commission({ code: manualCode })]);
    expect(outcomes.filter((outcome) => 'result' in outcome)).toHaveLength(1);
    const errors = outcomes.flatMap((outcome) => ('error' in outcome ? [outcome.error.code] : []));
    expect(errors).toEqual(['CONFLICT']);
    expect(await home.device('once').get(0, 'OperationalCredentials', 'CommissionedFabrics')).toBe(1);
  });

  test('giving up ends the search at once', async () => {
    const control = new AbortController();
    const startedMs = performance.now();
    const outcome = hub.commission({ passcode: 20202020, discriminator: 4000 }, () => control.abort(), control.signal);
    expect(failed(await outcome).code).toBe('CANCELLED');
    // A search lasts 30 s.
    expect(performance.now() - startedMs).toBeLessThan(10_000);
  });

  test('a journal that cannot be written stops before the device gets an identity, and it can be tried again', async () => {
    const { qrCode } = home.device('full disk').pairing;
    const fault = new AtmoError('STORAGE_FAILED', 'The disk is full');
    const outcome = await hub.commission({ code: qrCode }, ({ step }) => {
      if (step === 'attest') store.fault = fault;
    });
    store.fault = undefined;
    expect(failed(outcome)).toBe(fault);
    expect(await home.device('full disk').get(0, 'OperationalCredentials', 'CommissionedFabrics')).toBe(0);
    expect(store.entries('commissioning')).toEqual([]);
    succeeded(await hub.commission({ code: qrCode }));
  });

  test('a hub that stops ends what it is commissioning', async () => {
    const outcome = hub.commission({ passcode: 20202020, discriminator: 4000 }, () => void hub.commissioner[Symbol.asyncDispose]());
    expect(failed(await outcome).code).toBe('CANCELLED');
  });

  test('no code, key or dataset reached the log', () => {
    const text = hub.logLines.join('\n');
    for (const name of NAMES) expect(text).not.toContain(String(home.device(name).pairing.passcode));
    expect(text).not.toMatch(/MT:|[0-9a-f]{32}/i);
  });
});
