import { describe, expect, test } from 'vitest';
import {
  type EndpointSnapshot,
  type NodeSnapshot,
  type ProductFacts,
  planDevices,
} from '../../../src/matter/devices/device-composition.ts';

const facts = (label: string, product = 'Thing'): ProductFacts => ({
  label,
  vendor: { id: 0xfff1, name: 'Acme' },
  product: { id: 1, name: product },
  serial: '',
  softwareVersion: '1',
  uniqueId: '',
});
const STRUCTURE = new Set(['RootNode', 'Aggregator', 'BridgedNode', 'PowerSource', 'ElectricalSensor']);

interface EndpointOptions {
  readonly parent?: number;
  readonly bridged?: ProductFacts;
  readonly tags?: EndpointSnapshot['tags'];
  readonly userLabel?: string;
}

function endpoint(number: number, types: readonly string[], options: EndpointOptions = {}): EndpointSnapshot {
  return {
    number,
    ...(number !== 0 && { parent: options.parent ?? 0 }),
    ...(options.bridged && { bridged: options.bridged }),
    deviceTypes: types.map((name, id) => ({ id, name, revision: 1 })),
    isApplication: types.some((name) => !STRUCTURE.has(name)),
    tags: options.tags ?? [],
    ...(options.userLabel !== undefined && { userLabel: options.userLabel }),
    clusters: [],
  };
}

const node = (label: string, ...endpoints: readonly EndpointSnapshot[]): NodeSnapshot => ({
  nodeId: '7',
  facts: facts(label),
  endpoints: [endpoint(0, ['RootNode']), ...endpoints],
});
const summary = (snapshot: NodeSnapshot): unknown =>
  planDevices(snapshot).map(({ key, kind, endpoints, label }) => [key, kind, endpoints, label]);
const structure = (snapshot: NodeSnapshot): unknown => planDevices(snapshot).map(({ key, kind, endpoints }) => [key, kind, endpoints]);

describe('the devices of a node', () => {
  test('a plain device is one device, its power source and meter included', () => {
    const plug = node('Plug', endpoint(1, ['OnOffPlugInUnit']), endpoint(2, ['ElectricalSensor']), endpoint(3, ['PowerSource']));
    expect(summary(plug)).toEqual([['7', 'node', [0, 1, 2, 3], 'Plug']]);
    expect(planDevices(plug)[0]?.deviceTypes[0]).toBe('OnOffPlugInUnit');
  });

  test('several application endpoints become parts with a name each', () => {
    const sensor = node('Hall', endpoint(1, ['TemperatureSensor']), endpoint(2, ['HumiditySensor']), endpoint(3, ['PowerSource']));
    expect(summary(sensor)).toEqual([
      ['7', 'node', [0, 3], 'Hall'],
      ['7/p1', 'part', [1], 'Hall temperature sensor'],
      ['7/p2', 'part', [2], 'Hall humidity sensor'],
    ]);
  });

  test('an appliance has its own endpoint, and its cabinets are parts, distinguished by their tags', () => {
    const cold = { namespace: 0x41, tag: 0 };
    const frozen = { namespace: 0x41, tag: 1 };
    const fridge = node(
      'Fridge',
      endpoint(1, ['Refrigerator']),
      endpoint(2, ['TemperatureControlledCabinet'], { parent: 1, tags: [cold] }),
      endpoint(3, ['TemperatureControlledCabinet'], { parent: 1, tags: [frozen] }),
    );
    const names = planDevices(fridge).map(({ label }) => label);
    expect(structure(fridge)).toEqual([
      ['7', 'node', [0, 1]],
      ['7/p2', 'part', [2]],
      ['7/p3', 'part', [3]],
    ]);
    expect(new Set(names).size).toBe(3);
    expect(names[2]).toBe('Fridge cabinet freezer');
  });

  test('similar parts are named by their user labels, where those differ', () => {
    const outlet = (number: number, userLabel: string) => endpoint(number, ['OnOffPlugInUnit'], { userLabel });
    const strip = node('Strip', outlet(1, 'Kettle'), outlet(2, 'Toaster'));
    expect(planDevices(strip).map(({ label }) => label)).toEqual([
      'Strip',
      'Strip on off plug in unit Kettle',
      'Strip on off plug in unit Toaster',
    ]);
    const same = node('Strip', outlet(1, 'Outlet'), outlet(2, 'Outlet'));
    expect(
      planDevices(same)
        .map(({ label }) => label)
        .at(-1),
    ).toBe('Strip on off plug in unit 2');
  });

  test('similar parts without tags are numbered', () => {
    const gang = node('Switch', endpoint(1, ['OnOffLight']), endpoint(2, ['OnOffLight']));
    expect(planDevices(gang).map(({ label }) => label)).toEqual(['Switch', 'Switch on off light 1', 'Switch on off light 2']);
  });

  test('a bridge is a device, and each bridged device is one', () => {
    const bridge = node(
      'Bridge',
      endpoint(1, ['Aggregator']),
      endpoint(3, ['BridgedNode', 'OnOffLight'], { parent: 1, bridged: { ...facts('Porch'), uniqueId: 'abc' } }),
      endpoint(4, ['BridgedNode'], { parent: 1, bridged: facts('Balcony') }),
      endpoint(5, ['TemperatureSensor'], { parent: 4 }),
      endpoint(6, ['HumiditySensor'], { parent: 4 }),
    );
    expect(summary(bridge)).toEqual([
      ['7', 'node', [0, 1], 'Bridge'],
      ['7/uabc', 'bridged', [3], 'Porch'],
      ['7/e4', 'bridged', [4], 'Balcony'],
      ['7/e4/p5', 'part', [5], 'Balcony temperature sensor'],
      ['7/e4/p6', 'part', [6], 'Balcony humidity sensor'],
    ]);
    expect(planDevices(bridge)[1]).toMatchObject({ parentKey: '7', deviceTypes: ['OnOffLight'] });
  });

  test('a bridged device with one child endpoint stays one device', () => {
    const bridge = node(
      'B',
      endpoint(1, ['Aggregator']),
      endpoint(2, ['BridgedNode'], { parent: 1, bridged: facts('X') }),
      endpoint(3, ['Fan'], { parent: 2 }),
    );
    expect(structure(bridge)).toEqual([
      ['7', 'node', [0, 1]],
      ['7/e2', 'bridged', [2, 3]],
    ]);
  });

  test('every endpoint belongs to exactly one device', () => {
    const mixed = node(
      'M',
      endpoint(1, ['OvenTop']),
      endpoint(2, ['Cooktop'], { parent: 1 }),
      endpoint(3, ['CookSurface'], { parent: 2 }),
      endpoint(9, ['PowerSource'], { parent: 3 }),
    );
    expect(
      planDevices(mixed)
        .flatMap(({ endpoints }) => endpoints)
        .sort(),
    ).toEqual([0, 1, 2, 3, 9]);
    expect(structure(mixed)).toEqual([
      ['7', 'node', [0, 1]],
      ['7/p2', 'part', [2]],
      ['7/p3', 'part', [3, 9]],
    ]);
  });
});
