import type { ClientNode } from '@matter/main/node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import { type HomeSpec, homeOf, standardHome } from '../home/home-spec.ts';
import type { VirtualHome } from '../home/virtual-home.ts';
import { until } from '../matter/device-hub.ts';
import { approve, BridgeLab } from './bridge-lab.ts';
import { SeenThing, statusOf } from './seen-thing.ts';

const LOCK = 'Front door';
const BLIND = 'Bedroom blind';
const THERMOSTAT = 'Thermostat';
const ECOSYSTEM = 'ecosystem-1';

const lab = new BridgeLab({ discover: false });
let home: VirtualHome;
let peer: ClientNode;

/** The devices, whose lock opens without a PIN: a bridged lock has none. */
function devices(): HomeSpec {
  const { devices } = homeOf(standardHome(), [LOCK, BLIND, THERMOSTAT]);
  const state = { lock: { doorLock: { requirePinForRemoteOperation: false } } };
  return { devices: devices.map((device) => ({ ...device, group: 'together', ...(device.name === LOCK && { state }) })) };
}

beforeAll(async () => {
  const started = await lab.start(devices());
  home = started.home;
  await lab.bridge(BLIND);
  await lab.bridge(THERMOSTAT);
  await lab.bridge(LOCK, { dangerous: true });
  peer = await lab.commission(started.controller);
  await until(() => [LOCK, BLIND, THERMOSTAT].every((name) => seen(name).information.reachable === true), 30_000);
}, 120_000);

afterAll(() => lab[Symbol.asyncDispose]());

const seen = (label: string) => new SeenThing(peer, label);

describe('a bridged lock', () => {
  const unlock = () => statusOf(seen(LOCK).invoke('doorLock', 'unlockDoor', {}));
  const lockState = () => home.device(LOCK).get('lock', 'DoorLock', 'LockState');
  const unlocks = async () => (await home.device(LOCK).commands()).filter(({ command }) => command === 'unlockDoor').length;

  test('refuses to unlock at once, and its hub tells the owner that somebody asks', async () => {
    const startedMs = performance.now();
    expect(await unlock()).toBe('Failure');
    expect(performance.now() - startedMs).toBeLessThan(5_000);
    expect(await lockState()).toBe(1);
    expect(seen(LOCK).state('doorLock').lockState).toBe(1);
    await until(async () => {
      const { notices } = (await lab.second.result('hub:list_notices', {})) as { notices: readonly JsonObject[] };
      return notices.some(({ kind, text }) => kind === 'approval' && String(text).includes(ECOSYSTEM));
    });
  });

  test('stays locked when the owner approves, opens once when the command is repeated, and refuses the next one', async () => {
    await approve(lab.second, `${ECOSYSTEM}@${lab.first.id}`);
    expect(await lockState()).toBe(1);
    expect(await unlocks()).toBe(0);
    expect(await unlock()).toBe('Success');
    expect(await lockState()).toBe(2);
    await until(() => seen(LOCK).state('doorLock').lockState === 2);
    expect(await statusOf(seen(LOCK).invoke('doorLock', 'lockDoor', {}))).toBe('Success');
    await until(() => seen(LOCK).state('doorLock').lockState === 1);
    expect(await unlock()).toBe('Failure');
    expect(await lockState()).toBe(1);
    expect(await unlocks()).toBe(1);
  });
});

describe('a bridged cover', () => {
  const cover = () => seen(BLIND).state('windowCovering');
  const position = () => home.device(BLIND).get('covering', 'WindowCovering', 'CurrentPositionLiftPercent100ths');

  test('moves to the position that the ecosystem wants', async () => {
    await seen(BLIND).invoke('windowCovering', 'goToLiftPercentage', { liftPercent100thsValue: 3000 });
    await until(async () => (await position()) === 3000);
    await until(() => cover().currentPositionLiftPercent100ths === 3000 && cover().targetPositionLiftPercent100ths === 3000);
  });

  test('follows a movement by hand, and has no target of its own any more', async () => {
    await home.device(BLIND).set('covering', 'WindowCovering', 'CurrentPositionLiftPercent100ths', 6000);
    await until(() => cover().currentPositionLiftPercent100ths === 6000 && cover().targetPositionLiftPercent100ths === 6000);
    expect(cover()).toMatchObject({ operationalStatus: { global: 0 } });
  });
});

describe('a bridged thermostat', () => {
  const shown = () => seen(THERMOSTAT).state('thermostat');
  const heating = () => home.device(THERMOSTAT).get('thermostat', 'Thermostat', 'OccupiedHeatingSetpoint');
  const write = (occupiedHeatingSetpoint: number) => statusOf(seen(THERMOSTAT).write('thermostat', { occupiedHeatingSetpoint }));

  test('takes a setpoint', async () => {
    expect(await write(2150)).toBe('Success');
    expect(await heating()).toBe(2150);
    await until(() => shown().occupiedHeatingSetpoint === 2150);
  });

  test('keeps its setpoint when the thermostat refuses the new one', async () => {
    expect(await write(3200)).not.toBe('Success');
    expect(await heating()).toBe(2150);
    await until(() => shown().occupiedHeatingSetpoint === 2150);
  });

  test('shows a setpoint and a temperature that the thermostat reports', async () => {
    await home.device(THERMOSTAT).set('thermostat', 'Thermostat', 'OccupiedHeatingSetpoint', 1900);
    await home.device(THERMOSTAT).set('thermostat', 'Thermostat', 'LocalTemperature', 1830);
    await until(() => shown().occupiedHeatingSetpoint === 1900 && shown().localTemperature === 1830);
  });
});
