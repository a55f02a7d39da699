import { beforeAll, describe, expect, test } from 'vitest';
import type { RegisteredTool } from '../../../src/tools/definition/tool-definition.ts';
import { toolNotFound } from '../../../src/tools/registry/tool-suggestion.ts';
import { makeTool } from '../../calls/pipeline-fixture.ts';
import { fixtureHome } from '../search/fixture-home.ts';

let tools: readonly RegisteredTool[];
beforeAll(async () => {
  ({ tools } = await fixtureHome());
});

const suggested = (name: string, among: readonly RegisteredTool[] = tools) =>
  (toolNotFound(name, among).details.suggestions as readonly string[]).map((key) => key.replace(/^\w+:/, ''));

describe('a tool that is not there', () => {
  test.each([
    ['robot_start', ['robot_set_run_mode', 'robot_resume']],
    ['living_room_lamp_set_level', ['living_room_lamp_set_brightness']],
    ['living_room_lamp_tunr_on', ['living_room_lamp_turn_on']],
    ['livin_room_lamp_turn_off', ['living_room_lamp_turn_off']],
    ['matter:front_door_unlok', ['front_door_unlock']],
    ['dishwasher_begin', ['dishwasher_start']],
  ])('of a device that is there leads to that device: %s', (name, expected) => {
    const names = suggested(name);
    expect(names.slice(0, expected.length)).toEqual(expected);
  });

  test.each([
    'robot_start',
    'robot_vacuum_start',
    'living_room_lamp_set_level',
    'washer_begin',
    'bedroom_lamp_toggel',
    'thermostat_set_temprature',
    'front_door_open',
  ])('never leads to another device: %s', (name) => {
    const [device = ''] = name.split('_');
    for (const found of suggested(name)) expect(found).toContain(device);
  });

  test('of a device whose name begins like those of others leads to that device alone', () => {
    const deviceTools = (device: string) =>
      ['turn_on', 'turn_off'].map((action) =>
        makeTool({ name: `${device.replaceAll('-', '_')}_${action}`, namespace: 'matter', title: action, metadata: { device } }),
      );
    const lamps = ['hall-lamp-10', 'hall-lamp-1', 'hall-lamp-11'].flatMap(deviceTools);
    expect(suggested('hall_lamp_1_turn_onn', lamps)).toEqual(['hall_lamp_1_turn_on']);
  });

  test('of a device that is not there leads to things of its kind that do the same, and never to another appliance', () => {
    const without = tools.filter(({ definition }) => definition.metadata.device !== 'bedroom-lamp');
    const names = suggested('bedroom_lamp_turn_on', without);
    expect(names.length).toBeGreaterThan(0);
    for (const name of names) expect(name).toMatch(/(lamp|light|ceiling)_turn_on/);
    expect(suggested('lawn_mower_start')).toEqual([]);
    expect(suggested('oven_start').filter((name) => /dryer|washer|robot|dishwasher/.test(name))).toEqual([]);
  });

  test('of a few letters leads to no name that shares but a letter or two with it', () => {
    const others = ['search_web', 'command:ls', 'roll', 'fetch_url', 'atmosphere_call'].map((name) => {
      const [last = '', namespace = 'core'] = name.split(':').reverse();
      return makeTool({ name: last, namespace });
    });
    expect(suggested('wc', others)).toEqual([]);
    expect(suggested('full', others)).toEqual([]);
    expect(suggested('rol', others)).toEqual(['roll']);
  });

  test('never leads to the opposite', () => {
    const names = suggested('front_door_unloc').concat(suggested('garden_valve_opne'), suggested('radio_unmut'));
    expect(names).not.toContain('front_door_lock');
    expect(names).not.toContain('garden_valve_close');
    expect(names).not.toContain('radio_mute');
  });

  test.each([
    ['lock', 'front_door_unlock'],
    ['front_door_lok', 'front_door_unlock'],
    ['turn_off', 'turn_on'],
    ['lock_doors', 'unlock_doors'],
  ])('never leads to the opposite where only that is visible: %s', (wanted, opposite) => {
    expect(suggested(wanted, [makeTool({ name: opposite, namespace: 'lab' })])).toEqual([]);
    const seen = tools.filter(({ definition }) => definition.name === opposite);
    expect(suggested(wanted, seen)).toEqual([]);
  });

  test('of the hub itself is told by its letters, and a single word by the names that hold it', () => {
    expect(suggested('claculator')).toEqual(['calculator']);
    expect(suggested('unlok')).toContain('front_door_unlock');
    expect(suggested('probe', [makeTool({ name: 'probes', namespace: 'lab' })])).toEqual(['probes']);
  });
});
