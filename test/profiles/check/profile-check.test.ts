import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/json.ts';
import { standardCluster, standardClusterNames, standardDeviceTypes } from '../../../src/matter/model/data-model.ts';
import { checkProfiles } from '../../../src/profiles/check/check-profiles.ts';
import { formatProblem, type StandardClusterModel } from '../../../src/profiles/check/profile-problem.ts';
import { compileDevice } from '../../../src/profiles/compile/compile-device.ts';
import {
  profileFilesOf,
  type RawProfileFile,
  readProfileDirectory,
  readProfileSchemas,
} from '../../../src/profiles/files/load-profiles.ts';
import { draftProfile } from '../../../src/profiles/files/profile-draft.ts';
import { ProfileSet } from '../../../src/profiles/files/profile-set.ts';
import { described, PROFILE_DIRECTORY, profiles } from '../device-fixtures.ts';

const model: StandardClusterModel = { clusterNames: standardClusterNames(), cluster: standardCluster, deviceTypes: standardDeviceTypes() };
const schemas = readProfileSchemas(PROFILE_DIRECTORY);
const files = readProfileDirectory(PROFILE_DIRECTORY);

/** The problems that one changed or added file brings. */
function problemsOf(kind: RawProfileFile['kind'], id: string, change: (content: JsonObject) => unknown) {
  const before = files.find((file) => file.kind === kind && file.id === id);
  const content = change(structuredClone(before?.content ?? {}) as JsonObject);
  const rest = files.filter((file) => file !== before);
  return checkProfiles([...rest, { kind, id, path: `${kind}/${id}.json`, content }], schemas, model);
}

function withTool(content: JsonObject, name: string, change: JsonObject): JsonObject {
  const tools = content.tools as Record<string, JsonObject>;
  return { ...content, tools: { ...tools, [name]: { ...tools[name], ...change } } };
}

/** The content with other members of a tool's parameters; null takes one away. */
function withParam(content: JsonObject, name: string, changes: Record<string, JsonObject>): JsonObject {
  const params = (content.tools as Record<string, { params: Record<string, JsonObject> }>)[name]?.params ?? {};
  const changed = Object.entries(changes).map(([param, change]) => {
    const members = Object.entries({ ...params[param], ...change }).filter(([, value]) => value !== null);
    return [param, Object.fromEntries(members)];
  });
  return withTool(content, name, { params: { ...params, ...Object.fromEntries(changed) } });
}

describe('profile check', () => {
  test('our own files are right', () => {
    expect(files.length).toBeGreaterThan(140);
    expect(checkProfiles(files, schemas, model).map(formatProblem)).toEqual([]);
  });

  const mistakes: readonly [string, RawProfileFile['kind'], string, (content: JsonObject) => unknown, string, RegExp][] = [
    ['a misspelt key', 'devices', 'fan', ({ capabilities, ...rest }) => ({ ...rest, capabilties: capabilities }), '', /capabilties/],
    ['an unknown cluster', 'capabilities', 'on-off', (content) => ({ ...content, cluster: 'OnOf' }), '/cluster', /OnOff/],
    [
      'an unknown command',
      'capabilities',
      'on-off',
      (content) => withTool(content, 'turn_on', { command: 'Onn' }),
      '/tools/turn_on/command',
      /"On"|Off/,
    ],
    [
      'a tool without risk',
      'capabilities',
      'on-off',
      (content) => withTool(content, 'turn_on', { risk: null }),
      '/tools/turn_on/risk',
      /none, low/,
    ],
    [
      'a name without verb',
      'capabilities',
      'on-off',
      (content) => withTool(content, 'lamp_on', (content.tools as Record<string, JsonObject>).turn_on ?? {}),
      '/tools/lamp_on',
      /verb/,
    ],
    [
      'an attribute that is not writable',
      'capabilities',
      'fan',
      (content) => withTool(content, 'set_speed', { write: ['PercentCurrent'] }),
      '/tools/set_speed/write',
      /PercentCurrent/,
    ],
    [
      'a target that no enum has',
      'capabilities',
      'door-lock',
      (content) => withTool(content, 'lock', { target: { lock_state: 'shut' } }),
      '/tools/lock/target/lock_state',
      /shut/,
    ],
    [
      'a fixed value of the wrong kind',
      'capabilities',
      'closure',
      (content) => withTool(content, 'open', { fixed: { Position: 'Wide' } }),
      '/tools/open/fixed/Position',
      /MoveToFullyOpen/,
    ],
    [
      'a feature that does not exist',
      'capabilities',
      'thermostat',
      (content) => withTool(content, 'set_preset', { features: ['PREZ'] }),
      '/tools/set_preset/features',
      /PRES/,
    ],
    [
      'a converter that does not fit',
      'capabilities',
      'temperature',
      (content) => ({ ...content, values: { temperature: { attribute: 'MeasuredValue', convert: 'not', title: 'T' } } }),
      '/values/temperature/convert',
      /boolean/,
    ],
    [
      'a unit that is not in the list',
      'capabilities',
      'flow',
      (content) => ({ ...content, values: { flow: { attribute: 'MeasuredValue', convert: 'deci', unit: 'gal', title: 'F' } } }),
      '/values/flow/unit',
      /m³\/h/,
    ],
    ['an unknown device type', 'devices', 'fan', (content) => ({ ...content, match: { deviceType: 'Fann' } }), '/match/deviceType', /Fan/],
    ['an unknown capability', 'devices', 'fan', (content) => ({ ...content, capabilities: ['fann'] }), '/capabilities/0', /fan/],
    [
      'a capability that the type does not have',
      'devices',
      'fan',
      (content) => ({ ...content, capabilities: ['door-lock'] }),
      '/capabilities/0',
      /DoorLock/,
    ],
    [
      'two files for one type',
      'devices',
      'fan-too',
      () => ({ title: 'Fan', noun: 'fan', match: { deviceType: 'Fan' }, capabilities: [] }),
      '/match',
      /fan\.json/,
    ],
    [
      'two usual capabilities of a cluster',
      'capabilities',
      'switch-too',
      () => ({ title: 'Switch', cluster: 'Switch' }),
      '/cluster',
      /usual/,
    ],
    [
      'an override of a tool that is not there',
      'devices',
      'fan',
      (content) => ({ ...content, overrides: { unlock: { risk: 'low' } } }),
      '/overrides/unlock',
      /unlock/,
    ],
    [
      'a current without bounds of reason',
      'capabilities',
      'evse',
      (content) => withParam(content, 'set_charging_limit', { amperes: { narrow: null } }),
      '/tools/set_charging_limit/params/amperes/narrow',
      /lowest and the highest/,
    ],
    [
      'a time of centuries',
      'capabilities',
      'valve',
      (content) => withParam(content, 'open', { seconds: { narrow: 'int [1..4294967294]' } }),
      '/tools/open/params/seconds/narrow',
      /within 0 to 2678400/,
    ],
    [
      'a limit that no attribute has',
      'capabilities',
      'evse',
      (content) => withParam(content, 'set_charging_limit', { amperes: { limits: { max: 'CircuitCapacities' } } }),
      '/tools/set_charging_limit/params/amperes/limits',
      /CircuitCapacity/,
    ],
    ['a command whose risk nobody says', 'capabilities', 'low-power', ({ tools: _, ...content }) => content, '/risks', /Sleep/],
  ];

  test.each(mistakes)('%s is reported with file, place and fix', (_, kind, id, change, pointer, text) => {
    const problems = problemsOf(kind, id, change);
    const here = problems.filter((one) => one.pointer === pointer && one.file.endsWith(`${id}.json`));
    expect(here.map(formatProblem).join('\n')).toMatch(text);
    expect(here.filter((problem) => problem.fix === '')).toEqual([]);
  });
});

describe('matching', () => {
  const product = {
    title: 'Acme opener',
    noun: 'garage door',
    match: { vendorId: 0xfff1, productId: 0x8000 },
    capabilities: ['on-off'],
    overrides: { turn_on: { risk: 'dangerous', title: 'Open', description: 'Opens {device}.' } },
    without: ['toggle'],
  } as const;
  const with2 = (id: string, file: unknown) =>
    ProfileSet.fromFiles(profileFilesOf([...files, { kind: 'devices', id, path: id, content: file }]));

  test('a product file wins over its device type', () => {
    const compiled = compileDevice(described('OnOffPlugInUnit', { hasAllElements: true }), with2('acme', product));
    expect(compiled.tools.find((tool) => tool.action === 'turn_on')).toMatchObject({
      risk: 'dangerous',
      title: 'Open',
      noun: 'garage door',
    });
    expect(compiled.tools.some((tool) => tool.action === 'toggle')).toBe(false);
    expect(compiled.noun).toBe('garage door');
  });

  test('other products keep the device type’s file', () => {
    const other = described('OnOffPlugInUnit', { device: { product: { id: 2, name: 'Other' } } });
    expect(compileDevice(other, with2('acme', product)).tools.find((tool) => tool.action === 'turn_on')).toMatchObject({
      risk: 'low',
      noun: 'plug',
    });
  });

  test('a tie is an error that names both files', () => {
    expect(() => with2('plug-too', { ...product, match: { deviceType: 'OnOffPlugInUnit' } })).toThrow(/on-off-plug/);
  });
});

describe('risk by command', () => {
  test.each([
    ['DoorLock', 'UnlockDoor', 'dangerous'],
    ['OnOff', 'On', 'low'],
    ['Thermostat', 'SetpointRaiseLower', 'low'],
    ['ScenesManagement', 'RecallScene', 'dangerous'],
    ['ScenesManagement', 'StoreScene', 'dangerous'],
    ['ScenesManagement', 'CopyScene', 'dangerous'],
    ['GeneralCommissioning', 'ArmFailSafe', 'dangerous'],
    ['NobodyKnows', 'Anything', 'medium'],
  ])('%s.%s is %s on whatever device', (cluster, command, risk) => {
    expect(profiles.riskOf(cluster, command)).toBe(risk);
  });
});

describe('profile draft', () => {
  test('for a known type names the product and its capabilities', () => {
    const [file, ...others] = draftProfile(described('DimmableLight'), profiles);
    expect(others).toEqual([]);
    expect(file).toMatchObject({
      path: 'devices/test-vendor-dimmablelight.json',
      content: { noun: 'light', match: { vendorId: 0xfff1, productId: 0x8000 }, capabilities: ['on-off', 'brightness', 'scenes'] },
    });
  });

  test('passes the check unchanged, also with clusters that no profile has', () => {
    const unknown = described('ElectricalEnergyTariff', {
      hasAllElements: true,
      clusters: ['CommodityPrice', 'CommodityTariff', 'ElectricalGridConditions', 'ZoneManagement'],
    });
    const drafts = draftProfile(unknown, profiles);
    expect(drafts.length).toBe(5);
    const added = drafts.map(({ path, content }): RawProfileFile => {
      const [kind = '', name = ''] = path.split('/');
      return { kind: kind as RawProfileFile['kind'], id: name.replace('.json', ''), path, content };
    });
    const problems = checkProfiles([...files, ...added], schemas, model).filter((problem) => !problem.problem.includes('nothing fills it'));
    expect(problems.map(formatProblem)).toEqual([]);
  });
});
