import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import type { ReadingValue } from '../../src/core/devices/sensor-readings.ts';
import type { DeviceId, SensorId } from '../../src/core/ids.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { makeTool, settled } from '../calls/pipeline-fixture.ts';
import { type AgentFixture, codeOf, startedFixture } from './agent-fixture.ts';

const PAGE = readFileSync(new URL('../../docs/automations.md', import.meta.url), 'utf8');
const SENSORS = ['hall-motion/is_occupied', 'front-door/is_open', 'living-room/temperature'];
const TOOLS = [
  'hall_lamp_turn_on',
  'hall_lamp_turn_off',
  'hall_lamp_set_brightness',
  'living_room_lamp_turn_on',
  'living_room_lamp_turn_off',
];
const BLIND = 'living_room_blind_set_position';

/** The permissions in the line with which the page starts an example. */
function permissionsOf(file: string): readonly string[] {
  const [, allowed = ''] = PAGE.match(new RegExp(`^\`sudo atmo agent spawn [a-z-]+ --config ${file} --allow ([^\`]+)`, 'm')) ?? [];
  return allowed.split(' ');
}

/** The id of the device of a tool, as the tool's name begins: `hall_lamp_turn_on` is a tool of `hall-lamp`. */
const deviceOf = (tool: string) => tool.replace(/_(?:turn|set)_.*$/, '').replaceAll('_', '-');

function example(file: string): JsonObject {
  const [, text = ''] = PAGE.split(`(${file})\n\n\`\`\`yaml\n`);
  return parseYaml(text.split('```')[0] ?? '') as JsonObject;
}

/** A house with the sensors and tools of the examples, in which one example runs. `done` has what its calls did. */
async function houseWith(file: string, before: Readonly<Record<string, ReadingValue>> = {}) {
  const fixture = await startedFixture({ timeZone: 'Europe/Berlin', place: { latitude: 52.5, longitude: 13.4 } });
  const done: string[] = [];
  for (const name of [...TOOLS, BLIND]) {
    const handler = async (params: object) => {
      done.push([name, ...Object.values(params)].join(' '));
      return {};
    };
    fixture.registry.register(
      makeTool({
        namespace: 'matter',
        name,
        handler,
        parameters: { type: 'object' },
        requires: { permissions: [`device:control:${deviceOf(name)}`] },
      }),
    );
  }
  const report = async (sensor: string, value: ReadingValue) => {
    const [device = '', name = ''] = sensor.split('/');
    fixture.readings.record(sensor as SensorId, value, fixture.clock.now());
    fixture.events.emit('sensor.reading', sensor, { value, unit: '', kind: name, at_ms: fixture.clock.now() });
    await settled();
    expect(device).not.toBe('');
  };
  for (const id of SENSORS) {
    const [device = '', name = ''] = id.split('/');
    const info = { id: id as SensorId, device: device as DeviceId, name, kind: name, unit: '', title: id };
    fixture.readings.describe(id as SensorId, info);
    fixture.readings.setReachability(device as DeviceId, 'reachable');
  }
  for (const [sensor, value] of Object.entries(before)) await report(sensor, value);
  const spawned = await fixture.spawn(example(file), { permissions: permissionsOf(file), ttl_seconds: 30 * 86_400 });
  expect(spawned.status === 'error' ? spawned.error.message : codeOf(spawned)).toBe('success');
  return { ...fixture, done, report };
}

const at = async ({ clock }: Pick<AgentFixture, 'clock'>, iso: string) => {
  clock.advance(Date.parse(iso) - clock.now());
  await settled();
};

test('the lamp is on while somebody moves after sunset, and two minutes longer', async () => {
  const house = await houseWith('motion-light.yaml', { 'hall-motion/is_occupied': false });
  await at(house, '2026-01-01T12:00:00Z');
  await house.report('hall-motion/is_occupied', true);
  await house.report('hall-motion/is_occupied', false);
  expect(house.done).toEqual([]);
  await at(house, '2026-01-01T18:00:00Z');
  await house.report('hall-motion/is_occupied', true);
  await house.pass(600);
  expect(house.done).toEqual(['hall_lamp_turn_on']);
  await house.report('hall-motion/is_occupied', false);
  await house.pass(119);
  expect(house.done).toEqual(['hall_lamp_turn_on']);
  await house.pass(1);
  expect(house.done).toEqual(['hall_lamp_turn_on', 'hall_lamp_turn_off']);
});

test('the lamp at the door is bright by day, dim after sunset and dark while the flag of the night is set', async () => {
  const house = await houseWith('door-light.yaml', { 'front-door/is_open': false });
  const open = async () => {
    await house.report('front-door/is_open', false);
    await house.report('front-door/is_open', true);
    await house.pass(30);
  };
  await at(house, '2026-01-01T12:00:00Z');
  await open();
  await at(house, '2026-01-01T18:00:00Z');
  await open();
  await house.call('set_flag', { flag: 'night', value: true });
  await open();
  const brightness = (percent: number) => `hall_lamp_set_brightness ${percent}`;
  expect(house.done).toEqual([brightness(100), brightness(40), brightness(5)]);
});

test('the house looks lived in while all are away', async () => {
  const house = await houseWith('lived-in.yaml');
  await at(house, '2026-01-01T19:30:00Z');
  expect(house.done).toEqual([]);
  await house.call('set_presence', { person: 'ann', presence: 'away' });
  await at(house, '2026-01-02T19:30:00Z');
  await house.pass(2_700);
  expect(house.done.slice(-2)).toEqual(['living_room_lamp_turn_on', 'living_room_lamp_turn_off']);
});

test('the doorbell of another system blinks the lamp three times', async () => {
  const house = await houseWith('doorbell.yaml');
  await house.call('post_to_webhook', { agent_id: 'auto', webhook: 'bell' });
  for (let second = 0; second < 6; second++) {
    await settled();
    await house.pass(1);
  }
  expect(house.done).toEqual(Array.from({ length: 3 }, () => ['hall_lamp_turn_on', 'hall_lamp_turn_off']).flat());
});

test('the blinds follow the temperature of the room', async () => {
  const house = await houseWith('blinds.yaml', { 'living-room/temperature': 25 });
  await at(house, '2026-01-01T11:00:00Z');
  expect(house.done).toEqual([]);
  const { next_run_at: next } = await house.view('auto');
  expect(next).toMatch(/^2026-05-01T08:00/);
});
