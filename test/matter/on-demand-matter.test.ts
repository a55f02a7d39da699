import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { CommissionResult } from '../../src/core/devices/device-administration.ts';
import type { DeviceChange } from '../../src/core/devices/device-directory.ts';
import type { BridgingDeviceSource } from '../../src/core/devices/matter-bridge.ts';
import { AtmoError } from '../../src/core/errors.ts';
import type { DeviceId } from '../../src/core/ids.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { hasMatterState, OnDemandMatter } from '../../src/matter/on-demand-matter.ts';
import { ManualClock } from '../manual-clock.ts';
import { MemoryKeyValueStore } from '../memory-key-value-store.ts';

const LAMP = 'lamp' as DeviceId;
const signal = new AbortController().signal;
const noProgress = () => {};
let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'matter-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** A source whose one device joins when it is commissioned; counts how often it was opened, started and disposed. */
function setup({ fails = 0 } = {}) {
  const counts = { opened: 0, started: 0, disposed: 0 };
  const emitted: string[] = [];
  const open = async (): Promise<BridgingDeviceSource> => {
    counts.opened++;
    let listener: (change: DeviceChange) => void = () => {};
    const devices: { id: DeviceId }[] = [];
    const source = {
      directory: {
        list: () => devices,
        get: (id: DeviceId) => devices.find((device) => device.id === id),
        onChange: (added: typeof listener) => {
          listener = added;
          return () => {};
        },
      },
      access: { onReport: () => () => {}, onEvent: () => () => {}, isCurrent: () => true },
      administration: {
        commission: async (): Promise<Partial<CommissionResult>> => {
          devices.push({ id: LAMP });
          listener({ kind: 'added', device: { id: LAMP } } as DeviceChange);
          return { nodeId: '1' };
        },
        setWifi: async () => {},
        credentials: () => [{ name: 'home' }],
        updates: async () => ({ folder: dir, offers: [], unfit: [{ file: 'a.ota', reason: 'no device' }] }),
      },
      bridges: { open: async () => ({ port: 5560 }) },
      start: async () => {
        counts.started++;
        if (counts.started <= fails) throw new AtmoError('STORAGE_FAILED', 'the fabric is lost');
      },
      [Symbol.asyncDispose]: async () => void counts.disposed++,
    };
    return source as unknown as BridgingDeviceSource;
  };
  const matter = new OnDemandMatter({ logger: silentLogger, open, updatesDir: join(dir, 'updates') });
  matter.directory.onChange(({ kind, device }) => emitted.push(`${kind} ${device.id}`));
  return { matter, counts, emitted };
}

describe('Matter of a hub without devices', () => {
  test('answers without its code that there is nothing', async () => {
    const { matter, counts } = setup();
    await matter.start();
    expect(matter.directory.list()).toEqual([]);
    expect(matter.administration.groups()).toEqual([]);
    expect(matter.administration.credentials()).toEqual([]);
    expect(await matter.administration.topology({ signal })).toEqual({ nodes: [], links: [] });
    expect(await matter.administration.updates()).toMatchObject({ offers: [], unfit: [] });
    await expect(matter.administration.ping(LAMP, { signal })).rejects.toMatchObject({ code: 'DEVICE_NOT_FOUND' });
    await expect(
      matter.access.write({ device: LAMP, endpoint: 1, cluster: 'OnOff', attribute: 'OnOff' }, true, { signal }),
    ).rejects.toThrow('no Matter devices yet');
    expect(() => matter.administration.setArea(LAMP, 'Hall')).toThrow('There is no device "lamp"');
    const { administration } = matter;
    const [member, options] = [{ device: LAMP, endpoint: 1 }, { signal }];
    for (const use of [
      () => administration.addGroupMember(7, member, options),
      () => administration.removeGroupMember(7, member, options),
      () => administration.deleteGroup(7, options),
      () => administration.invokeGroup(7, 'OnOff', 'on', {}, options),
    ])
      await expect(use()).rejects.toMatchObject({ code: 'NOT_FOUND', message: 'There is no group 7; there are none' });
    await matter[Symbol.asyncDispose]();
    expect(counts).toEqual({ opened: 0, started: 0, disposed: 0 });
  });

  test('the first commissioning loads it, once, and those who listened before hear of the device', async () => {
    const { matter, counts, emitted } = setup();
    const commission = () => matter.administration.commission({ code: '1' }, { signal, onProgress: noProgress });
    await Promise.all([commission(), matter.administration.setWifi('home', 'ssid', 'password')]);
    expect(emitted).toEqual(['added lamp']);
    expect(matter.directory.get(LAMP)).toBeDefined();
    expect(matter.access.isCurrent(LAMP)).toBe(true);
    expect(matter.administration.credentials()).toHaveLength(1);
    await matter[Symbol.asyncDispose]();
    expect(counts).toEqual({ opened: 1, started: 1, disposed: 1 });
  });

  test('a bridge loads it', async () => {
    const { matter, counts } = setup();
    await matter.bridges.open({} as Parameters<typeof matter.bridges.open>[0], []);
    expect(counts.started).toBe(1);
  });

  test('an image in the folder for updates loads it, since only its code can tell for which device', async () => {
    const { matter } = setup();
    mkdirSync(join(dir, 'updates'));
    writeFileSync(join(dir, 'updates/a.ota'), '');
    expect((await matter.administration.updates()).unfit).toHaveLength(1);
  });

  test('what it could not open is said, and tried again at the next use', async () => {
    const { matter, counts } = setup({ fails: 1 });
    await expect(matter.administration.setWifi('home', 'ssid', 'password')).rejects.toMatchObject({ code: 'STORAGE_FAILED' });
    await matter.administration.setWifi('home', 'ssid', 'password');
    expect(counts.started).toBe(2);
  });

  test('is not loaded any more while the hub stops', async () => {
    const { matter, counts } = setup();
    await matter[Symbol.asyncDispose]();
    await expect(matter.administration.setWifi('home', 'ssid', 'password')).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
    expect(counts.opened).toBe(0);
  });
});

describe('whether Matter was ever used', () => {
  const state = (anchor: { readonly generation: number; readonly digest: string } | undefined = undefined) => {
    const store = new MemoryKeyValueStore(new ManualClock());
    const [stateDir, clusterModelsDir] = [join(dir, 'matter'), join(dir, 'cluster-models')];
    return { store, stateDir, clusterModelsDir, anchor: { least: () => anchor } };
  };

  test('a new hub has not', () => {
    const fresh = state();
    expect(hasMatterState(fresh)).toBe(false);
    mkdirSync(fresh.stateDir);
    expect(hasMatterState(fresh)).toBe(false);
  });

  test('a hub with a fabric or a bridge has, also where its files are lost', () => {
    const used = state();
    mkdirSync(join(used.stateDir, 'hub'), { recursive: true });
    expect(hasMatterState(used)).toBe(true);
    rmSync(used.stateDir, { recursive: true });
    expect(hasMatterState(used)).toBe(false);
    expect(hasMatterState(state({ generation: 3, digest: '7' }))).toBe(true);
  });

  test.each(['devices', 'devices.former', 'commissioning', 'credentials', 'groups'])('a hub with something in %s has', (space) => {
    const used = state();
    used.store.set(space, 'a', {});
    expect(hasMatterState(used)).toBe(true);
  });

  test("a hub with models of manufacturers' clusters has, since mistakes in them are told at the start", () => {
    const used = state();
    mkdirSync(used.clusterModelsDir);
    writeFileSync(join(used.clusterModelsDir, 'a.json'), '{}');
    expect(hasMatterState(used)).toBe(true);
  });
});
