import { describe, expect, test } from 'vitest';
import type { DeviceDescription } from '../../../src/core/devices/device-model.ts';
import type { JsonSchema } from '../../../src/core/json.ts';
import { standardCluster, standardDeviceTypes } from '../../../src/matter/model/data-model.ts';
import { compileDevice } from '../../../src/profiles/compile/compile-device.ts';
import type { CompiledDevice } from '../../../src/profiles/compile/compiled-device.ts';
import { deviceToolDefinition } from '../../../src/profiles/tools/device-tool-definition.ts';
import { enumNames } from '../../../src/profiles/values/converter.ts';
import { ALSO_ACCEPTED, visitSchema } from '../../../src/tools/schema/schema-walk.ts';
import { described, profiles, toolOf } from '../device-fixtures.ts';

const COMPILED = standardDeviceTypes().map(({ name, clusters }) => ({
  name,
  compiled: compileDevice(described(name, { hasAllElements: true, clusters: clusters.map((cluster) => cluster.name) }), profiles),
}));

/** Names of the standard that no person would say. */
const ODD_NAME = /^is_(not|at)_|numbers?_?\d|\d_or_|_mireds$|^current_.+_and_current_|^setpoint_hold_|^move_to_.*(position|fully)|lockout/;
/** Templates that were filled with nothing, and numbers in place of a name. */
const ODD_TEXT = /\{|\}|undefined|null|NaN|0x| {2}| ,|\.\.|\b(\w+) \1\b/i;

/** Every sentence about a device: with the noun of the device before and behind "of", it stumbles. */
function stumbles(text: string, noun: string): boolean {
  const [before, rest] = text.split(` of the ${noun} "`);
  return rest !== undefined && noun.split(' ').some((word) => new RegExp(`\\b${word}s?\\b`, 'i').test(before ?? ''));
}

/** Names that people see and say: of readings, parameters, and what both may be. */
function namesOf(compiled: CompiledDevice): readonly string[] {
  const names: string[] = compiled.values.map((value) => value.name);
  for (const tool of compiled.tools.filter((one) => one.capability !== undefined)) {
    names.push(...Object.keys((tool.parameters.properties ?? {}) as object));
    visitSchema(tool.parameters, (part, path) => {
      // Former words are taken and shown to nobody.
      if (!path.includes(`/${ALSO_ACCEPTED}/`)) names.push(...enumNames(part));
    });
  }
  return names;
}

describe.each(COMPILED)('what people read of a $name', ({ compiled }) => {
  test('has plain words', () => {
    for (const tool of compiled.tools.filter((one) => one.capability !== undefined)) {
      const { description, metadata } = deviceToolDefinition(compiled.device, tool, 'some_tool');
      expect.soft(stumbles(description, tool.noun), description).toBe(false);
      expect.soft(description).not.toMatch(ODD_TEXT);
      expect.soft(metadata.title).toMatch(/^[A-Z].*[^. ]$/);
      for (const schema of Object.values((tool.parameters.properties ?? {}) as Record<string, JsonSchema>)) {
        expect.soft(schema.description, `${tool.action}: ${schema.description}`).not.toMatch(/\{device|undefined|NaN/);
      }
    }
    for (const { title } of [...compiled.values, ...compiled.events]) expect.soft(title).not.toMatch(/[{}]|^[a-z]|\.$/);
    expect(namesOf(compiled).filter((name) => ODD_NAME.test(name))).toEqual([]);
  });
});

test('the words of enumerations that values show are plain too', () => {
  const odd = profiles.capabilities().flatMap(({ id, cluster, values = {} }) =>
    Object.entries(values).flatMap(([name, value]) => {
      const attribute = standardCluster(value.cluster ?? cluster)?.attributes.find((one) => one.name === value.attribute);
      const shown = COMPILED.flatMap(({ compiled }) => compiled.values).find((one) => one.cluster === cluster && one.name === name);
      const words = enumNames(attribute?.schema ?? {}).map((raw) => String(shown?.toHuman(raw) ?? ''));
      return words.filter((word) => ODD_NAME.test(word)).map((word) => `${id}: ${name} ${word}`);
    }),
  );
  expect(odd).toEqual([]);
});

describe('what a device is called', () => {
  const withTypes = (names: readonly string[], clusters: readonly string[]): DeviceDescription => {
    const light = described('OnOffLight');
    const deviceTypes = names.map((name, index) => ({ id: index + 1, name, revision: 1 }));
    const own = clusters.map((name) => standardCluster(name) ?? expect.unreachable(name));
    return {
      device: { ...light.device, name: 'Switch', deviceTypes: names },
      endpoints: [{ endpoint: 1, tags: [], deviceTypes, clusters: own }],
    };
  };
  const sentence = (description: DeviceDescription): string => {
    const compiled = compileDevice(description, profiles);
    return deviceToolDefinition(compiled.device, toolOf(compiled, 'turn_on'), 'x').description;
  };

  test('names its purpose, not its source of power', () => {
    expect(sentence(withTypes(['PowerSource', 'OnOffPlugInUnit'], ['PowerSource', 'OnOff']))).toBe('Turns on the plug "Switch".');
    expect(sentence(withTypes(['PowerSource'], ['PowerSource', 'OnOff']))).toBe('Turns on the device "Switch".');
    expect(compileDevice(withTypes(['PowerSource', 'OnOffPlugInUnit'], ['OnOff']), profiles).noun).toBe('plug');
    expect(compileDevice(withTypes(['PowerSource'], ['PowerSource']), profiles).noun).toBe('power source');
  });

  test('is no number where only the manufacturer defines the type', () => {
    expect(sentence(withTypes(['DeviceType0xfff10001'], ['OnOff']))).toBe('Turns on the device "Switch".');
  });

  test('a water heater speaks of water and of no room', () => {
    const compiled = compileDevice(described('WaterHeater', { hasAllElements: true }), profiles);
    const texts = [...compiled.tools, ...compiled.values].map((one) => JSON.stringify(one));
    expect(texts.filter((text) => /\broom\b/i.test(text))).toEqual([]);
    expect(compiled.readings.find(({ path }) => path === 'temperature')?.title).toBe('Water temperature');
  });
});
