import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { BridgeService } from '../../src/bridge/bridge-service.ts';
import { BridgeStore } from '../../src/bridge/bridge-store.ts';
import { type BridgedThing, deviceThings, outputThing, sceneThing, sensorThing } from '../../src/bridge/bridged-things.ts';
import type { ThingQuery } from '../../src/bridge/thing-finder.ts';
import { OWNER } from '../../src/core/auth/principal.ts';
import type { BridgedEndpoint, BridgeNode, BridgeNodeOptions, EcosystemFabric } from '../../src/core/devices/matter-bridge.ts';
import { AtmoError } from '../../src/core/errors.ts';
import { EventBus } from '../../src/core/events.ts';
import { ManualClock } from '../manual-clock.ts';
import { MemoryKeyValueStore } from '../memory-key-value-store.ts';
import { FakeTokens } from './fake-tokens.ts';

/** A bridge without Matter. It keeps its fabrics and the last values of its things when the hub stops, as a stored node does. */
class FakeNode implements BridgeNode {
  readonly port = 5550;
  readonly shown = new Map<string, BridgedEndpoint>();
  fabrics: EcosystemFabric[] = [];
  cannotRemove = false;
  options: BridgeNodeOptions | undefined;

  async put(endpoint: BridgedEndpoint): Promise<void> {
    this.shown.set(endpoint.id, endpoint);
  }

  async remove(id: string): Promise<void> {
    this.shown.delete(id);
  }

  async update(id: string, { values, isReachable }: Parameters<BridgeNode['update']>[1]): Promise<void> {
    const before = this.shown.get(id);
    if (!before) return;
    this.shown.set(id, { ...before, isReachable: isReachable ?? before.isReachable, values: { ...before.values, ...values } });
  }

  async openWindow() {
    return { qrCode: 'MT:X', manualCode: '1', expiresAtMs: 0 };
  }

  async closeWindow(): Promise<void> {}

  ecosystems(): readonly EcosystemFabric[] {
    return this.fabrics;
  }

  async removeEcosystem(fabricIndex: number): Promise<void> {
    if (this.cannotRemove) throw new AtmoError('NODE_UNAVAILABLE', 'the fabric does not leave');
    this.fabrics = this.fabrics.filter((one) => one.fabricIndex !== fabricIndex);
    this.options?.onEcosystemsChanged();
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  /** Things by name. */
  named(name: string): BridgedEndpoint {
    return [...this.shown.values()].find((one) => one.name === name) ?? expect.unreachable(`${name} is not shown`);
  }
}

const APPLE: EcosystemFabric = { fabricIndex: 1, fabricId: '01', identity: 'apple', vendorId: 0x1349, label: 'Home' };
const pump = outputThing({ id: 'gpio/pump', title: 'Pump', device: 'gpio' }, 'pump');
const siren: BridgedThing = { ...outputThing({ id: 'gpio/siren', title: 'Siren', device: 'gpio' }, 'siren'), isDangerous: true };
const night = sceneThing({ id: 'night', name: 'Night', devices: ['lamp'] });
const attic = deviceThings({
  hub: 'hub-2',
  id: 'attic',
  name: 'Attic',
  type: 'on_off_light',
  sensors: [{ id: 'attic/is_on', kind: 'on_off', unit: '', title: 'on' }],
});
const copy = (name: string) => sensorThing({ id: `shed/${name}`, kind: 'temperature', unit: '°C', title: name }, 'shed') ?? pump;

let clock: ManualClock;
let tokens: FakeTokens;
let state: MemoryKeyValueStore;
let nodes: Map<number, FakeNode>;
let things: Map<string, readonly BridgedThing[]>;
let readings: Map<string, number>;
let events: EventBus;
let calls: { readonly tool: string; readonly principal: string }[];
let answer: object;
let problems: string[];
let bridges: BridgeService;

beforeEach(() => {
  clock = new ManualClock();
  tokens = new FakeTokens(clock);
  state = new MemoryKeyValueStore(clock);
  nodes = new Map();
  things = new Map([pump, siren, night].map((thing) => [thing.name, [thing]]));
  things.set('Attic', attic);
  readings = new Map([
    ['gpio/pump', 0],
    ['gpio/siren', 0],
  ]);
  calls = [];
  answer = { status: 'success', result: null };
  problems = [];
  bridges = service();
});

afterEach(() => bridges[Symbol.asyncDispose]());

function service(): BridgeService {
  events = new EventBus('hub', clock);
  const nodeOf = (number: number) => nodes.get(number) ?? new FakeNode();
  const parts = {
    clock,
    logger: { info() {}, warn() {}, error() {} },
    events,
    problems: { raise: (_about: string, text: string) => problems.push(text) },
    store: new BridgeStore(state),
    readings: {
      current: (id: string) => (readings.has(id) ? { value: readings.get(id), reachability: 'reachable' } : undefined),
    },
    tokens,
    pipeline: {
      call: async ({ tool, principal }: { tool: string; principal: { id: string } }) => {
        calls.push({ tool, principal: principal.id });
        return answer;
      },
    },
    mesh: { view: { peers: () => [] }, events: { subscribe: async () => undefined } },
    finder: {
      find: async ({ text }: ThingQuery) => things.get(text) ?? expect.unreachable(`no ${text}`),
      current: (key: string) => [...things.values()].flat().find((thing) => thing.key === key),
    },
    onScenesChanged: () => () => {},
    nodes: {
      open: async (options: BridgeNodeOptions, endpoints: readonly BridgedEndpoint[]) => {
        const node = nodeOf(options.number);
        nodes.set(options.number, node);
        node.options = options;
        // What a stored node shows first is what it has stored.
        for (const endpoint of endpoints) if (!node.shown.has(endpoint.id)) await node.put(endpoint);
        return node;
      },
      erase: async (number: number) => void nodes.delete(number),
    },
  };
  return new BridgeService(parts as unknown as ConstructorParameters<typeof BridgeService>[0], 'Home');
}

const add = (text: string, mayBeDangerous = false) => bridges.add({ text, principal: OWNER }, { mayBeDangerous });
const node = (number = 1) => nodes.get(number) ?? expect.unreachable(`there is no bridge ${number}`);
const command = (name: string, action: string, fabric = 'apple') =>
  node().options?.onCommand({ endpoint: node().named(name).id, fabric, action, params: {} });

/** Starts the hub, bridges things, and lets Apple Home commission the bridge. */
async function commissioned(...names: readonly string[]): Promise<void> {
  await bridges.start();
  for (const name of names) await add(name, true);
  await bridges.openWindow(1, 900);
  node().fabrics = [APPLE];
  node().options?.onEcosystemsChanged();
  await vi.waitFor(() => expect(bridges.ecosystems()).toHaveLength(1));
}

async function restarted(): Promise<void> {
  await bridges[Symbol.asyncDispose]();
  bridges = service();
  await bridges.start();
}

describe('commands of an ecosystem', () => {
  test('are calls of its own agent', async () => {
    await commissioned('Pump');
    await command('Pump', 'turn_on');
    expect(calls).toEqual([{ tool: 'gpio:pump_turn_on', principal: 'ecosystem-1' }]);
  });

  test('fail with the error of the call, and run when they are given again after an approval', async () => {
    await commissioned('Siren');
    answer = { status: 'error', error: { code: 'APPROVAL_REQUIRED', message: 'ask' } };
    await expect(command('Siren', 'turn_on')).rejects.toMatchObject({ code: 'APPROVAL_REQUIRED' });
    answer = { status: 'success', result: null };
    await command('Siren', 'turn_on');
    expect(calls).toHaveLength(2);
  });

  test('of another fabric, or to a thing that was removed, call nothing', async () => {
    await commissioned('Pump', 'Siren');
    const { id } = node().named('Siren');
    await expect(command('Pump', 'turn_on', 'google')).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    await bridges.remove('Siren');
    const late = node().options?.onCommand({ endpoint: id, fabric: 'apple', action: 'turn_on', params: {} });
    await expect(late).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    expect(calls).toEqual([]);
    expect(node().shown.size).toBe(1);
  });

  test('turn a scene on, which is off again a second later', async () => {
    await commissioned('Night');
    expect(node().named('Night').values).toEqual({ on: false });
    await command('Night', 'turn_on');
    expect(calls).toEqual([{ tool: 'core:run_scene', principal: 'ecosystem-1' }]);
    await node().update(node().named('Night').id, { values: { on: true } });
    clock.advance(1_000);
    await vi.waitFor(() => expect(node().named('Night').values).toEqual({ on: false }));
  });
});

describe('an ecosystem that was removed', () => {
  test('has no tokens at once and leaves', async () => {
    await commissioned('Pump');
    await bridges.removeEcosystem('ecosystem-1');
    expect(node().fabrics).toEqual([]);
    expect(tokens.valid()).toEqual([]);
  });

  test('gets none again while its fabric does not leave, and leaves after a restart', async () => {
    await commissioned('Pump');
    node().cannotRemove = true;
    await expect(bridges.removeEcosystem('ecosystem-1')).rejects.toThrow();
    node().options?.onEcosystemsChanged();
    await expect(command('Pump', 'turn_on')).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    node().cannotRemove = false;
    await restarted();
    expect(node().fabrics).toEqual([]);
    expect(tokens.valid()).toEqual([]);
    expect(calls).toEqual([]);
  });

  test('leaves when its token is revoked, also if that was while the hub did not run', async () => {
    await commissioned('Pump');
    await bridges[Symbol.asyncDispose]();
    for (const id of tokens.valid()) tokens.revoke(id);
    bridges = service();
    await bridges.start();
    expect(bridges.ecosystems()).toEqual([]);
    expect(node().fabrics).toEqual([]);
  });
});

test('a fabric that joined without the owner leaves and gets no token', async () => {
  await bridges.start();
  await add('Pump');
  node().fabrics = [APPLE];
  node().options?.onEcosystemsChanged();
  await vi.waitFor(() => expect(node().fabrics).toEqual([]));
  expect(tokens.records.size).toBe(0);
});

test('a lock or a dangerous output is bridged only if the owner says so', async () => {
  await bridges.start();
  await expect(add('Siren')).rejects.toMatchObject({ code: 'CONFLICT' });
  expect(bridges.things()).toEqual([]);
  await add('Siren', true);
  expect(bridges.things()).toHaveLength(1);
});

test('after a restart, a thing shows what it is now, and its present name', async () => {
  await commissioned('Pump', 'Night');
  const { id } = node().named('Pump');
  await node().update(id, { values: { on: true } });
  await node().update(node().named('Night').id, { values: { on: true } });
  things.set('Pump', [{ ...pump, name: 'Well' }]);
  await restarted();
  await vi.waitFor(() => expect(node().named('Well')).toMatchObject({ id, values: { on: false } }));
  expect(node().named('Night').values).toEqual({ on: false });
});

test('a sensor that the board has lost is not reachable', async () => {
  await bridges.start();
  await add('Pump');
  expect(node().named('Pump').isReachable).toBe(true);
  readings.delete('gpio/pump');
  events.emit('device.removed', 'gpio', {});
  await vi.waitFor(() => expect(node().named('Pump').isReachable).toBe(false));
});

test('the 51st thing goes to a second bridge, and a bridge without things and ecosystems is closed', async () => {
  await bridges.start();
  things.set(
    'Shed',
    Array.from({ length: 51 }, (_, index) => copy(`t${index}`)),
  );
  await add('Shed');
  expect([node(1).shown.size, node(2).shown.size]).toEqual([50, 1]);
  await bridges.remove('sensor/shed/t50');
  expect(nodes.has(2)).toBe(false);
});

test('the tokens that read things of another hub end with the last of these things', async () => {
  await bridges.start();
  await add('Attic');
  expect(tokens.valid()).toHaveLength(1);
  await bridges.remove('Attic');
  expect(tokens.valid()).toEqual([]);
});

test('a bridge that cannot start is reported, and the hub runs without it', async () => {
  await commissioned('Pump');
  await bridges[Symbol.asyncDispose]();
  bridges = service();
  const broken = vi.spyOn(nodes, 'get').mockImplementation(() => {
    throw new AtmoError('STORAGE_FAILED', 'the file is damaged');
  });
  await bridges.start();
  broken.mockRestore();
  expect(problems).toEqual([expect.stringContaining('the file is damaged')]);
});
