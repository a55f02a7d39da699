import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ClusterDescription, DeviceDescription } from '../../../src/core/devices/device-model.ts';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import type { JsonSchema } from '../../../src/core/json.ts';
import { standardCluster, standardClusterNames, standardDeviceTypes } from '../../../src/matter/model/data-model.ts';
import { compileDevice } from '../../../src/profiles/compile/compile-device.ts';
import type { CompiledDevice } from '../../../src/profiles/compile/compiled-device.ts';
import { isAdministrative } from '../../../src/profiles/files/administrative-clusters.ts';
import { NAME_LIMIT, toolName } from '../../../src/profiles/home/device-tool-names.ts';
import { deviceToolDefinition } from '../../../src/profiles/tools/device-tool-definition.ts';
import { lintDefinition } from '../../../src/tools/definition/definition-lint.ts';
import type { ToolDefinition } from '../../../src/tools/definition/tool-definition.ts';
import { minimalCluster } from '../../fixtures/minimal-cluster.ts';
import { described, profiles, validator } from '../device-fixtures.ts';

const TYPES = standardDeviceTypes().map((type) => ({ name: type.name, clusters: type.clusters.map((cluster) => cluster.name) }));

function definitionsOf(compiled: CompiledDevice): readonly ToolDefinition[] {
  return compiled.tools.map((tool) => deviceToolDefinition(compiled.device, tool, toolName('some_device', tool.action)));
}

/** Schemas compile, examples fit, every parameter is described; names are unique and short. */
function expectUsable(compiled: CompiledDevice): void {
  const definitions = definitionsOf(compiled);
  for (const definition of definitions) {
    validator.compile(definition.parameters);
    validator.compile(definition.returns);
    expect(lintDefinition(definition, validator), definition.name).toEqual([]);
    expect(definition.name).toMatch(/^[a-z][a-z0-9_]*$/);
    expect(definition.name.length).toBeLessThanOrEqual(NAME_LIMIT);
    expect(definition.description).not.toContain('{device}');
    expectDescribed(definition.parameters, definition.name);
  }
  const names = definitions.map((definition) => definition.name);
  expect(new Set(names).size).toBe(names.length);
  const paths = compiled.readings.map((reading) => reading.path);
  expect(new Set(paths).size).toBe(paths.length);
}

/** No word twice in a row, no number of a cluster in hexadecimal. */
function expectReadable(compiled: CompiledDevice): void {
  const names = [
    ...compiled.readings.flatMap(({ path, name }) => [path, name]),
    ...compiled.tools.flatMap(({ action, plainAction }) => [action, plainAction]),
  ];
  expect(names.filter((name) => /0x/.test(name) || /(?:^|_)([a-z0-9]+(?:_[a-z0-9]+)*)_\1(?:_|\/|$)/.test(name))).toEqual([]);
}

function expectDescribed(schema: JsonSchema, where: string): void {
  for (const [name, property] of Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>)) {
    expect(property.description, `${where}.${name}`).toEqual(expect.any(String));
  }
}

describe('every device type of the standard', () => {
  test.each(TYPES)('$name with all its clusters and elements gets usable tools', ({ name, clusters }) => {
    const compiled = compileDevice(described(name, { hasAllElements: true, clusters }), profiles);
    expectUsable(compiled);
    expectReadable(compiled);
    const bare = compiled.coverage.filter((one) => one.by === 'nothing').map((one) => one.cluster);
    expect(bare.filter((cluster) => standardCluster(cluster)?.commands.length ?? 0)).toEqual([]);
  });

  test.each(TYPES)('$name with what is mandatory gets usable tools', ({ name }) => {
    const compiled = compileDevice(described(name), profiles);
    expectUsable(compiled);
    expectReadable(compiled);
  });

  test.each(TYPES)('$name with a temperature of its own beside those that it has names each', ({ name, clusters }) => {
    const more = [
      'Thermostat',
      'TemperatureMeasurement',
      'OccupancySensing',
      'ModeSelect',
      'OperationalState',
      'ElectricalPowerMeasurement',
    ];
    expectReadable(compileDevice(described(name, { hasAllElements: true, clusters: [...new Set([...clusters, ...more])] }), profiles));
  });

  test('an air conditioner has a reading for each of its temperatures', () => {
    const { readings } = compileDevice(
      described('RoomAirConditioner', { hasAllElements: true, clusters: ['Thermostat', 'TemperatureMeasurement'] }),
      profiles,
    );
    const temperatures = readings.filter(({ kind }) => kind === 'temperature').map(({ path, title }) => [path, title]);
    expect(temperatures).toEqual([
      ['temperature', 'Temperature'],
      ['outdoor_temperature', 'Outdoor temperature'],
      ['temperature_measurement', 'Temperature measurement'],
    ]);
  });

  test('administrative clusters make no tools', () => {
    const compiled = compileDevice(
      described('RootNode', { hasAllElements: true, clusters: standardClusterNames().filter(isAdministrative) }),
      profiles,
    );
    expect(compiled.tools).toEqual([]);
    expect(new Set(compiled.coverage.map((one) => one.by))).toEqual(new Set(['administrative']));
  });

  test('whatever opens, unlocks or heats is dangerous', () => {
    const risk = (type: string, action: string) => {
      const clusters = TYPES.find((one) => one.name === type)?.clusters ?? [];
      return compileDevice(described(type, { hasAllElements: true, clusters }), profiles).tools.find((tool) => tool.action === action)
        ?.risk;
    };
    expect(risk('DoorLock', 'unlock')).toBe('dangerous');
    expect(risk('DoorLock', 'unbolt')).toBe('dangerous');
    expect(risk('DoorLock', 'lock')).toBe('low');
    expect(risk('Closure', 'open')).toBe('dangerous');
    expect(risk('WaterValve', 'open')).toBe('dangerous');
    expect(risk('WaterValve', 'close')).toBe('low');
    expect(risk('Cooktop', 'turn_on')).toBe('dangerous');
    expect(risk('Cooktop', 'turn_off')).toBe('low');
    expect(risk('OnOffLight', 'turn_on')).toBe('low');
    expect(risk('TemperatureControlledCabinet', 'start')).toBe('dangerous');
  });

  test('a scene is as risky as the riskiest tool beside it', () => {
    const light = compileDevice(described('DimmableLight', { hasAllElements: true }), profiles);
    expect(light.tools.find((tool) => tool.action === 'recall_scene')?.risk).toBe('medium');
    const lock = compileDevice(described('DoorLock', { hasAllElements: true, clusters: ['ScenesManagement'] }), profiles);
    expect(lock.tools.find((tool) => tool.action === 'recall_scene')?.risk).toBe('dangerous');
  });
});

describe('what tools send', () => {
  // A setpoint by number or by level: no device has both features, and only the narrowed command says which field it wants.
  const narrowed = (clusters: readonly ClusterDescription[]) =>
    clusters.map((cluster) =>
      cluster.name === 'TemperatureControl' ? (standardCluster(cluster.name, ['TN', 'STEP']) ?? cluster) : cluster,
    );
  const sending = TYPES.flatMap(({ name, clusters }) => {
    const whole = described(name, { hasAllElements: true, clusters });
    const description = { ...whole, endpoints: whole.endpoints.map((one) => ({ ...one, clusters: narrowed(one.clusters) })) };
    const tools = compileDevice(description, profiles).tools.filter((tool) => tool.kind === 'act' && tool.example !== undefined);
    return tools.map((tool) => ({ name: `${name}: ${tool.action}`, tool, clusters: description.endpoints[0]?.clusters ?? [] }));
  });

  test('there are many such tools', () => {
    expect(sending.length).toBeGreaterThan(200);
  });

  test('fits the schemas of the commands and attributes, for the example of every tool', () => {
    for (const { name, tool, clusters } of sending) {
      const params = validator.parameters(tool.parameters, tool.example ?? {});
      for (const step of tool.plan(params).steps) {
        const cluster = clusters.find((one) => one.name === step.cluster);
        const [schema, value] =
          step.kind === 'invoke'
            ? [cluster?.commands.find((one) => one.name === step.command)?.parameters, step.fields]
            : [cluster?.attributes.find((one) => one.name === step.attribute)?.schema, step.kind === 'write' ? step.value : null];
        const result = validator.check({ type: 'object', properties: { value: schema ?? false } }, { value });
        expect(result, `${name} sends ${JSON.stringify(value)}`).toMatchObject({ isValid: true });
      }
    }
  });
});

describe('devices that no file names', () => {
  const cluster = fc.tuple(fc.constantFrom(...standardClusterNames()), fc.boolean(), fc.nat()).map(([name, isWhole, seed]) => {
    const all = standardCluster(name)?.features ?? [];
    return (
      isWhole
        ? standardCluster(name)
        : minimalCluster(
            name,
            all.filter((_, index) => (seed >> index) & 1),
          )
    ) as ClusterDescription;
  });
  const endpoint = fc.record({
    endpoint: fc.integer({ min: 0, max: 60_000 }),
    deviceTypes: fc.constant([{ id: 0xfff1_0001, name: 'DeviceType0xfff10001', revision: 1 }]),
    tags: fc.constant([]),
    clusters: fc.uniqueArray(cluster, { selector: (one) => one.name, maxLength: 6 }),
  });
  const device = fc.uniqueArray(endpoint, { selector: (one) => one.endpoint, minLength: 1, maxLength: 3 }).map(
    (endpoints): DeviceDescription => ({
      device: { ...described('OnOffLight').device, id: parseDeviceId('odd'), name: 'Odd', deviceTypes: ['DeviceType0xfff10001'] },
      endpoints,
    }),
  );

  test('clusters chosen at random from the model give usable tools, none out of reach', () => {
    fc.assert(
      fc.property(device, (description) => {
        const compiled = compileDevice(description, profiles);
        expectUsable(compiled);
        expectReadable(compiled);
        for (const { endpoint: at, clusters } of description.endpoints) {
          for (const one of clusters.filter((each) => !isAdministrative(each.name) && each.commands.length > 0)) {
            const by = compiled.coverage.find((each) => each.endpoint === at && each.cluster === one.name)?.by;
            expect(['capability', 'generic']).toContain(by);
          }
        }
      }),
      { numRuns: 25 },
    );
  }, 240_000);

  test('the same device gives the same names, whatever the order of its parts', () => {
    fc.assert(
      fc.property(device, (description) => {
        const names = (one: DeviceDescription) => compileDevice(one, profiles).tools.map((tool) => `${tool.endpoint}/${tool.action}`);
        expect(names(description)).toEqual(names(structuredClone(description)));
        const turned = { ...description, endpoints: description.endpoints.toReversed() };
        expect(names(turned).sort()).toEqual(names(description).sort());
      }),
      { numRuns: 15 },
    );
  });

  test('clusters that only their manufacturers know are called by their numbers, in words', () => {
    const nameless = (id: number): ClusterDescription => ({
      id,
      name: `Cluster0x${id.toString(16)}`,
      revision: 1,
      features: [],
      attributes: [
        {
          id: 2,
          name: 'Attr0xfff10002',
          schema: {},
          writable: true,
          readPrivilege: 'view',
          writePrivilege: 'operate',
          changesOmitted: false,
          fixed: false,
        },
      ],
      commands: [],
      events: [],
    });
    const light = described('OnOffLight');
    const clusters = [0xfff1_fc01, 0xfff2_fc01, 0xfff1_fc20, 0x0abc].map(nameless);
    const compiled = compileDevice({ ...light, endpoints: light.endpoints.map((one) => ({ ...one, clusters })) }, profiles);
    expectUsable(compiled);
    expectReadable(compiled);
    expect(compiled.tools.map(({ action }) => action).filter((action) => action.endsWith('_read'))).toEqual([
      'vendor_1_read',
      'vendor_65522_1_read',
      'vendor_32_read',
      'cluster_2748_read',
    ]);
    expect(compiled.tools[0]).toMatchObject({
      action: 'vendor_1_set_attribute_2',
      formerAction: 'cluster0xfff1fc01_set_attr0xfff10002',
      key: '1/Cluster0xfff1fc01/cluster0xfff1fc01_set_attr0xfff10002',
    });
  });

  test("a manufacturer's own cluster becomes tools with its own schema", () => {
    const own: ClusterDescription = {
      id: 0xfff1_fc01,
      name: 'AquariumControl',
      revision: 1,
      features: [],
      attributes: [
        {
          id: 0,
          name: 'BubbleRate',
          schema: { type: 'integer', minimum: 0, maximum: 9 },
          writable: true,
          readPrivilege: 'view',
          writePrivilege: 'operate',
          changesOmitted: false,
          fixed: false,
        },
      ],
      commands: [
        {
          id: 0,
          name: 'FeedFish',
          parameters: {
            type: 'object',
            properties: { grams: { type: 'integer', minimum: 1, maximum: 20 } },
            required: ['grams'],
            additionalProperties: false,
          },
          timed: false,
          privilege: 'operate',
        },
      ],
      events: [],
    };
    const light = described('OnOffLight');
    const description = { ...light, endpoints: light.endpoints.map((one) => ({ ...one, clusters: [...one.clusters, own] })) };
    const compiled = compileDevice(description, profiles);
    const actions = compiled.tools.filter((tool) => tool.cluster === own.name).map((tool) => tool.action);
    expect(actions).toEqual(['aquarium_control_feed_fish', 'aquarium_control_set_bubble_rate', 'aquarium_control_read']);
    const feed = compiled.tools.find((tool) => tool.action === 'aquarium_control_feed_fish');
    expect(feed?.plan({ grams: 3 }).steps).toEqual([
      { kind: 'invoke', endpoint: 1, cluster: own.name, command: 'FeedFish', fields: { grams: 3 } },
    ]);
    expect(validator.check(feed?.parameters ?? {}, { grams: 30 }).isValid).toBe(false);
    expect(feed?.risk).toBe('medium');
  });
});
