import '../../../src/matter/matter-platform.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Endpoint, Environment, type ServerNode } from '@matter/main';
import { AggregatorEndpoint } from '@matter/main/endpoints/aggregator';
import { type AttributeModel, ClusterModel, Metatype } from '@matter/main/model';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { BRIDGED_KINDS, type BridgedKind, type BridgedValues } from '../../../src/core/devices/matter-bridge.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { createRoot } from '../../../src/matter/bridge/bridge-root.ts';
import { linkEndpoint } from '../../../src/matter/bridge/bridged-request.ts';
import { BRIDGED_TYPES, changedState, type EndpointState, initialState, restedState } from '../../../src/matter/bridge/bridged-types.ts';
import { plausibleValue } from './plausible-values.ts';

const dir = mkdtempSync(join(tmpdir(), 'bridged-endpoints-'));
const aggregator = new Endpoint(AggregatorEndpoint, { id: 'aggregator' });
const endpoints = new Map<BridgedKind, Endpoint>();
let node: ServerNode;
let calls: { readonly fabric: number; readonly action: string; readonly params: JsonObject }[] = [];
let refusal: AtmoError | undefined;

beforeAll(async () => {
  Environment.default.vars.set('storage.path', dir);
  node = await createRoot({ number: 1, name: 'Home', port: 0, isOpen: () => false });
  await node.add(aggregator);
  for (const kind of BRIDGED_KINDS) endpoints.set(kind, await added(kind));
}, 60_000);

afterAll(async () => {
  await node.close();
  rmSync(dir, { recursive: true, force: true });
});

beforeEach(() => {
  calls = [];
  refusal = undefined;
});

async function added(kind: BridgedKind): Promise<Endpoint> {
  const type = BRIDGED_TYPES[kind];
  const loaded = (await type.load()) as typeof AggregatorEndpoint;
  const endpoint = new Endpoint(loaded, { id: kind, ...initialState(type, {}) });
  linkEndpoint(endpoint, async (fabric, command) => {
    calls.push({ fabric, ...command });
    // The call of a tool never settles at once.
    await new Promise((resolve) => setImmediate(resolve));
    if (refusal) throw refusal;
  });
  await aggregator.add(endpoint);
  return endpoint;
}

type Behaviour = Record<string, (fields?: unknown) => unknown> & { readonly state: Record<string, unknown> };

const at = (kind: BridgedKind) => endpoints.get(kind) ?? expect.unreachable(`${kind} is not on the bridge`);
const state = (kind: BridgedKind, cluster: string) => (at(kind).state as EndpointState)[cluster] ?? {};

/** What identifies the sender of a message in the context of matter.js. */
const SENDER = { subject: { id: 1n, catTags: [] }, fabric: 3, authorityAt: () => 1 };

/** Runs a command or a write as matter.js does for a message of the fabric 3. */
const invoke = (kind: BridgedKind, cluster: string, command: string, fields?: unknown) =>
  acting(kind, [cluster, { ...SENDER, command: true }], (behaviour) => behaviour[command]?.(fields));
const write = (kind: BridgedKind, cluster: string, values: object) =>
  acting(kind, [cluster, SENDER], (behaviour) => void Object.assign(behaviour.state, values));
/** Runs work on a cluster as matter.js does for a timer of its own. */
const asTimer = (kind: BridgedKind, cluster: string, work: Work) => acting(kind, [cluster, {}], work);

type Work = (behaviour: Behaviour) => unknown;

async function acting(kind: BridgedKind, [cluster, sender]: readonly [string, object], work: Work): Promise<unknown> {
  const endpoint = at(kind);
  const type = endpoint.behaviors.supported[cluster] ?? expect.unreachable(`${kind} has no ${cluster}`);
  return endpoint.act('test', async ({ context }) => {
    const acting = Object.create(context, Object.getOwnPropertyDescriptors(sender)) as typeof context;
    return work(endpoint.agentFor(acting).get(type) as unknown as Behaviour);
  });
}

const show = async (kind: BridgedKind, values: BridgedValues) =>
  at(kind).set(changedState(BRIDGED_TYPES[kind], values, at(kind).state as EndpointState));

describe('a bridged thermostat', () => {
  test.each([
    ['heating_thermostat', { occupiedHeatingSetpoint: 2150 }, 'set_temperature', { temperature: 21.5 }],
    ['heating_thermostat', { systemMode: 4 }, 'set_mode', { mode: 'heat' }],
    ['thermostat', { occupiedHeatingSetpoint: 1850 }, 'set_temperature', { temperature: 18.5, setpoint: 'heat' }],
    ['thermostat', { occupiedCoolingSetpoint: 2700 }, 'set_temperature', { temperature: 27, setpoint: 'cool' }],
    ['thermostat', { systemMode: 3 }, 'set_mode', { mode: 'cool' }],
  ] as const)('%s carries out a write of %o', async (kind, values, action, params) => {
    await write(kind, 'thermostat', values);
    expect(calls).toEqual([{ fabric: 3, action, params }]);
    expect(state(kind, 'thermostat')).toMatchObject(values);
  });

  test('keeps its setpoint when the hub refuses the write', async () => {
    const before = state('heating_thermostat', 'thermostat').occupiedHeatingSetpoint;
    refusal = new AtmoError('RULE_BLOCKED', 'not at night');
    await expect(write('heating_thermostat', 'thermostat', { occupiedHeatingSetpoint: 2900 })).rejects.toThrow('not at night');
    expect(state('heating_thermostat', 'thermostat').occupiedHeatingSetpoint).toBe(before);
  });

  test.each([
    ['heating_thermostat', 3],
    ['heating_thermostat', 7],
    ['thermostat', 5],
    ['thermostat', 7],
    ['thermostat', 9],
  ] as const)('%s refuses the mode %i, which it does not have, and does not act', async (kind, systemMode) => {
    const before = state(kind, 'thermostat').systemMode;
    await expect(write(kind, 'thermostat', { systemMode })).rejects.toThrow();
    expect(calls).toEqual([]);
    expect(state(kind, 'thermostat').systemMode).toBe(before);
  });

  test('does not act for a setpoint that Matter refuses', async () => {
    await expect(write('heating_thermostat', 'thermostat', { occupiedHeatingSetpoint: 9900 })).rejects.toThrow();
    expect(calls).toEqual([]);
  });

  test('shows what the thing reports, which is no command', async () => {
    await show('heating_thermostat', { heating_setpoint: 19, mode: 'off', temperature: 20.5 });
    expect(state('heating_thermostat', 'thermostat')).toMatchObject({
      occupiedHeatingSetpoint: 1900,
      systemMode: 0,
      localTemperature: 2050,
    });
    expect(calls).toEqual([]);
  });
});

describe('a bridged cover', () => {
  const cover = () => state('cover', 'windowCovering');

  test('moves until the thing reports the percentage to which it was sent', async () => {
    await show('cover', { open_percent: 100 });
    await invoke('cover', 'windowCovering', 'goToLiftPercentage', { liftPercent100thsValue: 4210 });
    expect(calls).toMatchObject([{ action: 'set_position', params: { open_percent: 58 } }]);
    expect(cover()).toMatchObject({ targetPositionLiftPercent100ths: 4200, operationalStatus: { global: 2 } });
    await show('cover', { open_percent: 58 });
    expect(cover()).toMatchObject({ currentPositionLiftPercent100ths: 4200, operationalStatus: { global: 0 } });
  });

  test('has stopped after a command to stop', async () => {
    await invoke('cover', 'windowCovering', 'downOrClose');
    expect(cover()).toMatchObject({ operationalStatus: { global: 2 } });
    await invoke('cover', 'windowCovering', 'stopMotion');
    expect(calls).toMatchObject([{ action: 'close' }, { action: 'stop' }]);
    expect(cover()).toMatchObject({ operationalStatus: { global: 0 }, targetPositionLiftPercent100ths: 4200 });
  });

  test('that reports where it stopped while the command to stop is carried out has that as its target', async () => {
    await show('cover', { open_percent: 60 });
    await invoke('cover', 'windowCovering', 'downOrClose');
    const stopped = invoke('cover', 'windowCovering', 'stopMotion');
    await show('cover', { open_percent: 58 });
    await stopped;
    expect(cover()).toMatchObject({ currentPositionLiftPercent100ths: 4200, targetPositionLiftPercent100ths: 4200 });
  });

  test('that reports where it stopped while its stop is stored has that as its target', async () => {
    await show('cover', { open_percent: 60 });
    await invoke('cover', 'windowCovering', 'downOrClose');
    // The report was made for a cover that moves, and is shown when the stop has ended.
    const report = changedState(BRIDGED_TYPES.cover, { open_percent: 55 }, at('cover').state as EndpointState);
    await invoke('cover', 'windowCovering', 'stopMotion');
    await at('cover').set(report);
    expect(cover()).toMatchObject({ currentPositionLiftPercent100ths: 4500, targetPositionLiftPercent100ths: 4500 });
    expect(cover()).toMatchObject({ operationalStatus: { global: 0 } });
  });

  test('that is moved by hand has its new position as its target', async () => {
    await show('cover', { open_percent: 80 });
    expect(cover()).toMatchObject({ currentPositionLiftPercent100ths: 2000, targetPositionLiftPercent100ths: 2000 });
    expect(cover()).toMatchObject({ operationalStatus: { global: 0 } });
  });

  test('goes on to its target while it reports positions, and stands where it stopped once it reports nothing more', async () => {
    await invoke('cover', 'windowCovering', 'downOrClose');
    await show('cover', { open_percent: 60 });
    expect(cover()).toMatchObject({ targetPositionLiftPercent100ths: 10_000, operationalStatus: { global: 2 } });
    await at('cover').set(restedState(at('cover').state as EndpointState));
    expect(cover()).toMatchObject({ targetPositionLiftPercent100ths: 4000, operationalStatus: { global: 0 } });
    expect(restedState(at('cover').state as EndpointState)).toEqual({});
    await show('cover', { open_percent: 58 });
  });

  test('cannot be put into a mode in which it refuses commands', async () => {
    await expect(write('cover', 'windowCovering', { mode: { maintenanceMode: true } })).rejects.toThrow('does not set mode');
    await invoke('cover', 'windowCovering', 'upOrOpen');
    expect(calls).toMatchObject([{ action: 'open' }]);
  });
});

test('a level for a light that is off is kept where the options of the command say so, without turning the light on', async () => {
  await at('dimmable_light').setStateOf('onOff', { onOff: false });
  const evenIfOff = { optionsMask: { executeIfOff: true }, optionsOverride: { executeIfOff: true } };
  await invoke('dimmable_light', 'levelControl', 'moveToLevel', { level: 80, transitionTime: null, ...evenIfOff });
  await invoke('dimmable_light', 'levelControl', 'moveToLevel', { level: 90, transitionTime: null, optionsMask: {}, optionsOverride: {} });
  expect(state('dimmable_light', 'levelControl').currentLevel).toBe(80);
  expect(state('dimmable_light', 'onOff').onOff).toBe(false);
  expect(calls).toEqual([]);
});

/** Fields for the commands that need some. */
const FIELDS: Readonly<Record<string, object>> = {
  moveToLevel: { level: 80, transitionTime: null, optionsMask: {}, optionsOverride: {} },
  moveToLevelWithOnOff: { level: 80, transitionTime: null, optionsMask: {}, optionsOverride: {} },
  move: { moveMode: 0, rate: null, optionsMask: {}, optionsOverride: {} },
  moveWithOnOff: { moveMode: 0, rate: null, optionsMask: {}, optionsOverride: {} },
  step: { stepMode: 1, stepSize: 10, transitionTime: null, optionsMask: {}, optionsOverride: {} },
  stepWithOnOff: { stepMode: 1, stepSize: 10, transitionTime: null, optionsMask: {}, optionsOverride: {} },
  moveToColorTemperature: { colorTemperatureMireds: 300, transitionTime: 0, optionsMask: {}, optionsOverride: {} },
  moveColorTemperature: {
    moveMode: 1,
    rate: 10,
    colorTemperatureMinimumMireds: 0,
    colorTemperatureMaximumMireds: 0,
    optionsMask: {},
    optionsOverride: {},
  },
  stepColorTemperature: {
    stepMode: 1,
    stepSize: 10,
    transitionTime: 0,
    colorTemperatureMinimumMireds: 0,
    colorTemperatureMaximumMireds: 0,
    optionsMask: {},
    optionsOverride: {},
  },
  goToLiftPercentage: { liftPercent100thsValue: 4200 },
  onWithTimedOff: { onOffControl: {}, onTime: 10, offWaitTime: 0 },
  unlockWithTimeout: { timeout: 5 },
  setpointRaiseLower: { mode: 0, amount: 5 },
};
/** Commands that change nothing which a thing does: groups and scenes are lists of the bridge, and these stop movements that end at once. */
const HARMLESS: ReadonlySet<string> = new Set(['stop', 'stopWithOnOff', 'stopMoveStep', 'identify', 'triggerEffect', 'resetCounts']);
const LISTS: ReadonlySet<string> = new Set(['groups', 'scenesManagement', 'identify']);

function commandsOf(kind: BridgedKind): readonly (readonly [string, string])[] {
  return Object.entries(at(kind).behaviors.supported).flatMap(([cluster, type]) => {
    const accepted = new Set((state(kind, cluster).acceptedCommandList ?? []) as readonly number[]);
    const commands = type.schema instanceof ClusterModel ? [...type.schema.commands] : [];
    return commands.flatMap(({ id, propertyName, isRequest }) => (isRequest && accepted.has(id) ? [[cluster, propertyName] as const] : []));
  });
}

describe('each command that an endpoint accepts', () => {
  test.each(BRIDGED_KINDS)('reaches the checks of a call or is refused: %s', async (kind) => {
    const commands = commandsOf(kind).filter(([cluster, name]) => !LISTS.has(cluster) && !HARMLESS.has(name));
    const actors = ['light', 'plug', 'cover', 'lock', 'thermostat'];
    if (actors.some((actor) => kind.endsWith(actor))) expect(commands.length).toBeGreaterThan(0);
    for (const [cluster, name] of commands) {
      calls = [];
      if ('onOff' in at(kind).state) await at(kind).setStateOf('onOff', { onOff: true, globalSceneControl: false });
      const refused = await invoke(kind, cluster, name, FIELDS[name] ?? {}).then(
        () => false,
        () => true,
      );
      expect(calls.length > 0 || refused, `${kind} ${cluster}.${name}`).toBe(true);
    }
  });

  test('is refused when a timer of the bridge gives it, whoever gave a command before', async () => {
    await invoke('plug', 'onOff', 'on');
    calls = [];
    await expect(asTimer('plug', 'onOff', (behaviour) => behaviour.off?.())).rejects.toThrow();
    expect(calls).toEqual([]);
    expect(state('plug', 'onOff').onOff).toBe(true);
  });

  test('a lock is not unlocked for a time, and a plug not turned on for one', async () => {
    await expect(invoke('lock', 'doorLock', 'unlockWithTimeout', { timeout: 5 })).rejects.toThrow('UnlockWithTimeout');
    await expect(invoke('plug', 'onOff', 'onWithTimedOff', FIELDS.onWithTimedOff)).rejects.toThrow('OnWithTimedOff');
    expect(calls).toEqual([]);
  });
});

/** What an ecosystem may write although it is no command: the bridge itself keeps these. */
const KEPT: ReadonlySet<string> = new Set(['identifyTime', 'options', 'nodeLabel']);

describe('each attribute that an ecosystem can write', () => {
  test.each(BRIDGED_KINDS)('reaches the checks of a call, or the write is refused and changes nothing: %s', async (kind) => {
    const attributes = writableOf(kind);
    expect(attributes.length).toBeGreaterThan(0);
    for (const [cluster, attribute] of attributes) {
      calls = [];
      const before = state(kind, cluster)[attribute.propertyName];
      const refused = await write(kind, cluster, { [attribute.propertyName]: otherThan(before, attribute) }).then(
        () => false,
        () => true,
      );
      const name = `${kind} ${cluster}.${attribute.propertyName}`;
      if (refused) expect(state(kind, cluster)[attribute.propertyName], name).toEqual(before);
      else expect(calls.length > 0 || KEPT.has(attribute.propertyName), name).toBe(true);
    }
  });

  test('a lock cannot be put into a mode that it would not have', async () => {
    await expect(write('lock', 'doorLock', { operatingMode: 1 })).rejects.toThrow('does not set operatingMode');
    expect(state('lock', 'doorLock').operatingMode).toBe(0);
  });
});

function writableOf(kind: BridgedKind): readonly (readonly [string, AttributeModel])[] {
  return Object.entries(at(kind).behaviors.supported).flatMap(([cluster, { schema }]) => {
    const listed = new Set((state(kind, cluster).attributeList ?? []) as readonly number[]);
    const attributes = schema instanceof ClusterModel ? [...schema.attributes] : [];
    return attributes.flatMap((one) => (one.writable && listed.has(one.id) ? [[cluster, one] as const] : []));
  });
}

/** Returns a value that the attribute does not have, and may have as far as its type goes. */
function otherThan(value: unknown, model: AttributeModel): unknown {
  if (typeof value === 'number') return value === 1 ? 0 : value < 2 ? 1 : value + 1;
  if (typeof value === 'boolean') return !value;
  if (model.effectiveMetatype !== Metatype.bitmap) return plausibleValue(model);
  return Object.fromEntries([...model.members].slice(0, 1).map((one) => [one.propertyName, true]));
}

test.each(BRIDGED_KINDS)('what a thing reports is not written to the disk: %s', (kind) => {
  for (const { cluster, attribute } of Object.values(BRIDGED_TYPES[kind].attributes)) {
    const stored = at(kind).behaviors.supported[cluster]?.supervisor.persistentKeys() ?? expect.unreachable(cluster);
    expect(stored).not.toContain(attribute);
  }
});

test('what no thing keeps is written to the disk', () => {
  expect(at('cover').behaviors.supported.windowCovering?.supervisor.persistentKeys()).toContain('numberOfActuationsLift');
});

test('an ecosystem cannot open the bridge for others while the owner has it closed', async () => {
  const type = node.behaviors.supported.administratorCommissioning ?? expect.unreachable('no cluster');
  const open = async () => node.act('test', (agent) => (agent.get(type) as unknown as Behaviour).openCommissioningWindow?.({}));
  await expect(open()).rejects.toThrow('the owner opens the bridge');
});
