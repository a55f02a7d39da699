import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Device } from '../../../src/core/devices/device-model.ts';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import { DeviceNameRegistry } from '../../../src/profiles/home/device-name-registry.ts';
import {
  byRightToName,
  NAME_LIMIT,
  plainPrefix,
  toolName,
  unclaimedPrefixes,
  unclaimedToolName,
} from '../../../src/profiles/home/device-tool-names.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';
import { described } from '../device-fixtures.ts';

const device = (id: string, name: string): Device => ({ ...described('OnOffLight').device, id: parseDeviceId(id), name });

describe('names of device tools', () => {
  test('come from the name that people gave', () => {
    expect(toolName(plainPrefix(device('light-living-room', 'Living Room Light')), 'turn_on')).toBe('living_room_light_turn_on');
  });

  test('fall back to the id where the name has no Latin letter, and start with a letter', () => {
    expect([device('lamp-7', '客厅灯'), device('three', '3D printer')].map(plainPrefix)).toEqual(['lamp_7', 'device_3d_printer']);
  });

  test('of several devices of one name that appear at once, the one that a person named so chooses first', () => {
    const lock = { ...device('lock-a1', 'Front Door'), isNamedHere: true as const };
    const all = [device('front-door', 'Front Door'), device('a-fake', 'Front Door'), lock];
    expect(byRightToName(all).map(({ id }) => id)).toEqual(['lock-a1', 'front-door', 'a-fake']);
    expect(byRightToName(all.toReversed())).toEqual(byRightToName(all));
  });

  test('too long ones lose words in the middle of the device, never the action, and need no hash', () => {
    expect(toolName('guest_bathroom_mirror_cabinet_light_left', 'turn_on')).toBe('guest_bathroom_mirror_light_left_turn_on');
    expect(toolName('heat_pump_thermostat', 'set_temperature')).toBe('heat_pump_thermostat_set_temperature');
    expect(toolName('refrigerator_thermostat', 'set_heating_setpoint_limits')).toBe('refrig_therm_set_heating_setpoint_limits');
  });

  test('keep the words that tell siblings apart', () => {
    const cooktops = ['kitchen_cooktop_big_cook_surface_one_plate', 'kitchen_cooktop_low_cook_surface_one_plate'];
    const names = cooktops.map((prefix) => toolName(prefix, 'set_temperature', cooktops));
    expect(names).toEqual(['kitchen_big_one_plate_set_temperature', 'kitchen_low_one_plate_set_temperature']);
  });

  test('stay within 40 characters whatever the device is called', () => {
    const text = fc.stringMatching(/^[a-z][a-z0-9]{0,12}(_[a-z0-9]{1,12}){0,5}$/);
    fc.assert(
      fc.property(text, text, fc.array(text), (left, right, others) => {
        const name = toolName(left, right, others);
        expect(name.length).toBeLessThanOrEqual(NAME_LIMIT);
        expect(name).toMatch(/^[a-z][a-z0-9_]*$/);
        expect(toolName(left, right, others)).toBe(name);
      }),
    );
  });
});

test('the rule of hubs that kept no names is known still', () => {
  const [first, second, third] = [device('lamp', 'Lamp'), device('lamp-2', 'Lamp'), device('a-lamp', 'Lamp')];
  const prefixes = unclaimedPrefixes([third, second, first]);
  expect(prefixes.get(first.id)).toBe('lamp');
  expect([prefixes.get(second.id), prefixes.get(third.id)]).toEqual(['lamp_7c6809', 'lamp_9f9ac1']);
  expect(unclaimedToolName('guest_bathroom_mirror_cabinet_light_left', 'turn_on')).toMatch(
    /^guest_bathroom_mirror_cab_turn_on_[0-9a-f]{6}$/,
  );
});

test('of a hundred parts with one long action each gets a name of its own', () => {
  const claims = new DeviceNameRegistry(new MemoryKeyValueStore(new ManualClock()));
  const action = `set_${'x'.repeat(29)}`;
  expect(action).toHaveLength(33);
  const names = Array.from({ length: 150 }, (_, number) => {
    return claims.name(device(`panel-${number}`, 'Solar panel'), [{ key: 'k', action, shortForms: [] }], []).get('k')?.name ?? '';
  });
  expect(new Set(names).size).toBe(150);
  for (const name of names) expect(name).toMatch(/^[a-z][a-z0-9_]{0,39}$/);
});

test('a name that was claimed is never given up, however often the device is renamed', () => {
  const claims = new DeviceNameRegistry(new MemoryKeyValueStore(new ManualClock()));
  const unlock = [{ key: 'unlock', action: 'unlock', shortForms: [] }];
  claims.name(device('front-door', 'Front door'), unlock, []);
  for (let number = 0; number < 100; number++) claims.name(device('front-door', `Name ${number}`), unlock, []);
  expect(claims.holderOf('front_door_unlock')).toBe('front-door');
  expect(claims.name(device('front-door', 'Last name'), unlock, []).get('unlock')?.aliases).toContain('front_door_unlock');
  expect(claims.name(device('other', 'Front door'), unlock, []).get('unlock')?.name).toBe('front_door_2_unlock');
  expect(claims.namesOf(parseDeviceId('front-door'))?.prefixes.length).toBeLessThan(40);
});

describe('the names of a device in whose place another one comes', () => {
  const [old, by] = [device('desk-plug', 'Desk plug'), device('desk-plug-2', 'Desk plug 2')];
  const tools = (...keys: readonly string[]) => keys.map((key) => ({ key, action: key.slice(2).replace('OnOff/', ''), shortForms: [] }));
  const readings = (...keys: readonly string[]) =>
    keys.map((key) => ({ key, path: key.split('/').at(-1) ?? '', endpoint: Number(key.slice(0, 1)) }));

  function registry(ofOld: readonly string[], ofNew: readonly string[]) {
    const store = new MemoryKeyValueStore(new ManualClock());
    const names = new DeviceNameRegistry(store);
    for (const [one, keys] of [[old, ofOld] as const, [by, ofNew] as const]) {
      names.name(one, tools(...keys.filter((key) => key.includes('OnOff'))), []);
      names.nameReadings(one.id, readings(...keys.filter((key) => !key.includes('OnOff'))));
      names.save(one.id);
    }
    return { names, store };
  }

  test('mean the tools and readings of the new one, also where these are at another endpoint', () => {
    const { names, store } = registry(['1/OnOff/turn_on', '1/Power/power'], ['3/OnOff/turn_on', '3/Power/power']);
    expect(names.lacking(old.id, by.id)).toEqual({ tools: [], toolKeys: [], readings: [] });
    names.merge(by.id, old.id);
    const named = new DeviceNameRegistry(store).name(old, tools('3/OnOff/turn_on'), []);
    expect(named.get('3/OnOff/turn_on')).toEqual({ name: 'desk_plug_turn_on', aliases: ['desk_plug_2_turn_on'] });
    expect(names.nameReadings(old.id, readings('3/Power/power')).get('3/Power/power')).toBe('power');
  });

  test('keep the order of several endpoints, and stay where it is not known which one is missing', () => {
    const { names } = registry(['1/OnOff/turn_on', '2/OnOff/turn_on'], ['2/OnOff/turn_on', '3/OnOff/turn_on']);
    names.merge(by.id, old.id);
    const named = names.name(old, tools('2/OnOff/turn_on', '3/OnOff/turn_on'), []);
    expect([named.get('2/OnOff/turn_on')?.name, named.get('3/OnOff/turn_on')?.name]).toEqual(['desk_plug_turn_on', 'desk_plug_2_turn_on']);
    const fewer = registry(['1/OnOff/turn_on', '2/OnOff/turn_on'], ['2/OnOff/turn_on']);
    expect(fewer.names.lacking(old.id, by.id)).toMatchObject({ tools: ['desk_plug_turn_on'], readings: [] });
  });

  test('that have no counterpart are told, and no other device gets them', () => {
    const { names } = registry(['1/OnOff/turn_on', '1/OnOff/toggle', '1/Power/power'], ['1/OnOff/turn_on']);
    expect(names.lacking(old.id, by.id)).toEqual({
      tools: ['desk_plug_toggle'],
      toolKeys: ['1/OnOff/toggle'],
      readings: ['power'],
    });
    names.merge(by.id, old.id);
    expect(names.holderOf('desk_plug_toggle')).toBe(old.id);
  });
});
