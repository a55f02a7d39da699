import { beforeEach, expect, test } from 'vitest';
import type { AgentRecord } from '../../src/automations/agent-store.ts';
import { parseAutomation } from '../../src/automations/plan/parse-automation.ts';
import { UsedDevices } from '../../src/automations/used-devices.ts';
import { DeviceAttention } from '../../src/core/devices/device-attention.ts';
import { EventBus } from '../../src/core/events.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { ManualClock } from '../manual-clock.ts';
import { homePorts } from './check/home-fixture.ts';

const SETTLE_MS = 1_000;
const HOT: JsonObject = { type: 'reading', sensor_id: 'attic-sensor/temperature', above: 30 };
const NIGHT: JsonObject = { tool: 'matter:scene_night' };

let clock: ManualClock;
let events: EventBus;
let attention: DeviceAttention;
let records: AgentRecord[];
let used: UsedDevices;
let looked: number;
let previews: number;
let onScene: () => void;
let onName: () => void;

beforeEach(async () => {
  clock = new ManualClock();
  events = new EventBus('hub:test', clock);
  attention = new DeviceAttention(clock);
  records = [];
  [looked, previews] = [0, 0];
  const home = homePorts();
  const agents = {
    records: () => {
      looked += 1;
      return records;
    },
    planOf: ({ config }: Pick<AgentRecord, 'config'>) => {
      previews += 1;
      return parseAutomation(config, home.validator);
    },
  };
  const scenes = {
    onChange: (listener: () => void) => {
      onScene = listener;
      return () => {};
    },
  };
  const names = {
    onChange: (listener: () => void) => {
      onName = listener;
      return () => {};
    },
  };
  used = new UsedDevices({ agents, check: { ...home, clock }, events, scenes, names, attention });
  await used.start();
});

function put(id: string, config: JsonObject, facts: Partial<AgentRecord> = {}): void {
  const record = { id, type: 'automation', status: 'active', permissions: ['device:control:*', 'sensor:read:*'], config, ...facts };
  records = [...records.filter((other) => other.id !== id), record as unknown as AgentRecord];
  events.emit('agent.changed', id);
}

test('an automation uses the device of its sensor, and those on which a scene of its acts, without naming them', () => {
  put('cool', { trigger: HOT, actions: [NIGHT] });
  clock.advance(SETTLE_MS);
  expect(['attic-sensor', 'kitchen-lamp', 'hall-lamp', 'bath-lamp'].filter((device) => !used.has(device))).toEqual([]);
  expect(['attic-lamp', 'front-door'].filter((device) => used.has(device))).toEqual([]);
});

test('one that is made, edited or enabled uses its devices soon, and the hub is told of those that are new', () => {
  const told: string[] = [];
  attention.onAttention((devices) => told.push(devices));
  put('cool', { trigger: HOT, actions: [{ tool: 'matter:hall_lamp_turn_on' }] }, { disabled: { atMs: 0, by: 'owner' } });
  clock.advance(SETTLE_MS);
  expect([used.has('attic-sensor'), used.has('hall-lamp'), told.length]).toEqual([false, false, 0]);
  put('cool', records[0]?.config ?? {});
  clock.advance(SETTLE_MS);
  expect([used.has('attic-sensor'), used.has('hall-lamp'), told.length]).toEqual([true, true, 1]);
  put('cool', { trigger: HOT, actions: [{ tool: 'matter:bath_lamp_turn_on' }] });
  clock.advance(SETTLE_MS);
  expect([used.has('hall-lamp'), used.has('bath-lamp'), told.length]).toEqual([false, true, 2]);
  put('cool', { trigger: HOT, actions: [{ tool: 'matter:bath_lamp_turn_on' }] }, { status: 'killed' });
  clock.advance(SETTLE_MS);
  expect([used.has('attic-sensor'), told.length]).toEqual([false, 2]);
});

test('questions about devices cost nothing, many changes at once are taken in once, and a run changes nothing', () => {
  put('cool', { trigger: HOT, actions: [NIGHT] });
  clock.advance(SETTLE_MS);
  [looked, previews] = [0, 0];
  attention.addUser((device) => used.has(device));
  for (let device = 0; device < 50; device++) expect(attention.isAttended(`lamp-${device}` as never)).toBe(false);
  expect([looked, previews]).toEqual([0, 0]);
  for (let run = 0; run < 20; run++) events.emit('agent.changed', 'cool');
  clock.advance(SETTLE_MS);
  expect([looked, previews]).toEqual([1, 0]);
  for (let device = 0; device < 20; device++) events.emit('device.added', `lamp-${device}`);
  onScene();
  clock.advance(SETTLE_MS);
  expect([looked, previews]).toEqual([2, 1]);
});

test('a room, floor or alias that gets another name is taken in soon, not only after an hour', () => {
  put('cool', { trigger: HOT, actions: [NIGHT] });
  clock.advance(SETTLE_MS);
  [looked, previews] = [0, 0];
  onName();
  clock.advance(SETTLE_MS);
  expect([looked, previews]).toEqual([1, 1]);
});

test('it listens to nothing any more once it is disposed', async () => {
  await used[Symbol.asyncDispose]();
  put('cool', { trigger: HOT, actions: [NIGHT] });
  clock.advance(SETTLE_MS);
  expect([used.has('attic-sensor'), clock.timers]).toEqual([false, 0]);
});
