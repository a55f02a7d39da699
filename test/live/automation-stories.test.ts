import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type JsonObject, objectOf, objectsOf } from '../../src/core/json.ts';
import { type LivingAutomation, StoryHome } from './story-home.ts';

const LAMP = 'Living room lamp';
const BED_LAMP = 'Bedroom lamp';
const HALL = 'Hall light';
const KITCHEN = 'Kitchen ceiling';
const LIGHTS = [LAMP, BED_LAMP, HALL, KITCHEN];
const DEVICES = [
  ...LIGHTS,
  ...['Thermostat', 'Bedroom fan', 'Bath hygrometer', 'Hall motion', 'Kitchen window', 'Bath sensor', 'Wall button', 'Robot'],
  ...['Television', 'Front door'],
];
const SUNSET_IN_MS = 75_000;
const LIGHT = 'device:control:@type/light';
const PAUSED = 2;
const PLAYING = 0;

let story: StoryHome;
let sunset: LivingAutomation;
let vacation: LivingAutomation;

beforeAll(async () => {
  story = await StoryHome.start(DEVICES, SUNSET_IN_MS);
  [sunset, vacation] = [await startSunset(), await startVacation()];
}, 600_000);
afterAll(() => story?.[Symbol.asyncDispose]());

/** Spawned before everything else, since they wait for the sun and for the clock. */
const startSunset = () =>
  story.automation({
    name: 'porch',
    yaml: `
      trigger:
        - { type: sun, event: sunset }
        - { type: sun, event: sunrise, offset_minutes: ${story.sunriseOffset} }
      actions:
        - type: choose
          options:
            - conditions: [{ type: expression, expr: trigger.event == "sunset" }]
              actions: [{ tool: matter:living_room_lamp_turn_on }]
          otherwise: [{ tool: matter:living_room_lamp_turn_off }]
      cooldown_seconds: 0`,
    allow: ['location:read:hub', 'device:control:living-room-lamp'],
  });

/** The next full minute of the clock stands for seven in the evening. */
const startVacation = async () => {
  const [hour, minute] = new Date(Date.now() + 75_000).toISOString().slice(11, 16).split(':');
  await story.hub.result('set_flag', { flag: 'vacation_mode', value: true });
  return await story.automation({
    name: 'lived-in',
    yaml: `
      trigger: { type: time, at: '${hour}:${minute}', time_zone: UTC }
      conditions: [{ type: flag, flag: vacation_mode }]
      actions:
        - { tool: matter:kitchen_ceiling_turn_on }
        - { type: wait, seconds: 2 }
        - { tool: matter:kitchen_ceiling_turn_off }`,
    allow: ['flag:read:vacation_mode', 'device:control:kitchen-ceiling'],
  });
};

const setContact = (name: string, part: number | string, isOpen: boolean) => async () => {
  // Matter's true is a closed contact.
  await story.device(name).set(part, 'BooleanState', 'stateValue', !isOpen);
};
const openWindow = (isOpen: boolean) => story.sense('kitchen-window/is_open', isOpen, setContact('Kitchen window', 'contact', isOpen));
const openBath = (isOpen: boolean) =>
  story.sense('bath-sensor-contact-sensor/is_open', isOpen, setContact('Bath sensor', 'contact', isOpen));
const move = (isMoving: boolean) =>
  story.sense('hall-motion/is_occupied', isMoving, () =>
    story.device('Hall motion').set(1, 'OccupancySensing', 'occupancy', { occupied: isMoving }),
  );
const dampen = (percent: number) =>
  story.sense('bath-hygrometer/humidity', percent, () =>
    story.device('Bath hygrometer').set(1, 'RelativeHumidityMeasurement', 'measuredValue', percent * 100),
  );
const press = () => story.device('Wall button').emit(1, 'Switch', 'InitialPress', { newPosition: 1 });

describe('what owners of houses wish for', () => {
  test('the hall light goes on when somebody moves, and off three seconds after the last movement', async () => {
    await using _ = await story.automation({
      name: 'motion',
      yaml: `
        trigger:
          - { type: reading, sensor_id: hall-motion/is_occupied, equals: true }
          - { type: reading, sensor_id: hall-motion/is_occupied, equals: false, for_seconds: 3 }
        actions:
          - type: choose
            options:
              - conditions: [{ type: expression, expr: trigger.value == true }]
                actions: [{ tool: matter:hall_light_turn_on }]
            otherwise: [{ tool: matter:hall_light_turn_off }]
        cooldown_seconds: 0`,
      allow: ['sensor:read:hall-motion/is_occupied', 'device:control:hall-light'],
    });
    const before = await story.count(HALL, 'off');
    await move(true);
    await story.isLit(HALL, true);
    await move(false);
    await move(true);
    await move(false);
    await story.isLit(HALL, false);
    expect(await story.count(HALL, 'off')).toBe(before + 1);
  });

  test('a light that stays dark in the morning is explained: its automation is disabled, and works once it is enabled', async () => {
    await using morning = await story.automation({
      name: 'morning',
      yaml: `
        trigger: { type: webhook, name: go }
        actions: [{ tool: matter:bedroom_lamp_turn_on }]
        cooldown_seconds: 0`,
      allow: ['device:control:bedroom-lamp'],
    });
    await story.light(BED_LAMP, false);
    await story.hub.result('set_agent_enabled', { agent_id: morning.id, enabled: false });
    expect(await story.post(morning.id)).toBe(false);
    const why = await story.hub.result('explain_automation', { agent_id: morning.id });
    expect(why).toMatchObject({ outcome: 'did_not_run', cause: 'disabled', summary: expect.stringContaining('disabled') });
    await story.isLit(BED_LAMP, false);
    await story.hub.result('set_agent_enabled', { agent_id: morning.id, enabled: true });
    await story.post(morning.id);
    await story.isLit(BED_LAMP, true);
  });

  test('an overview names every room with its devices as the home has them, and the automations', async () => {
    const { areas } = (await story.hub.get('/api/v1/areas')) as JsonObject;
    const { devices } = (await story.hub.get('/api/v1/devices')) as JsonObject;
    const nameOf = (id: unknown) => objectsOf(devices).find((device) => device.id === id)?.name;
    const rooms = objectsOf(areas).map(({ area, devices: ids }) => [area, (ids as readonly string[]).map(nameOf)] as const);
    for (const { name, area } of story.home.devices.map(({ spec }) => spec)) expect(Object.fromEntries(rooms)[area ?? '']).toContain(name);
    const { automations } = await story.hub.result('list_automations');
    expect(objectsOf(automations).map(({ agent_id: id }) => id)).toEqual(expect.arrayContaining([sunset.id, vacation.id]));
  });

  test('an evening light is edited to need somebody at home, and keeps its trigger and its brightness', async () => {
    const evening = {
      trigger: { type: 'webhook', name: 'go' },
      actions: [{ tool: 'matter:bedroom_lamp_set_brightness', params: { brightness: 80 } }],
      cooldown_seconds: 0,
    };
    await using made = await story.automation({ name: 'evening', yaml: JSON.stringify(evening), allow: ['device:control:bedroom-lamp'] });
    const config = { ...evening, conditions: [{ type: 'presence', is: 'home' }] };
    const permissions = ['device:control:bedroom-lamp', 'presence:read'];
    expect(await story.hub.result('edit_automation', { agent_id: made.id, config, permissions })).toMatchObject({ is_changed: true });
    const present = (presence: string) => story.hub.result('set_presence', { person: 'owner', presence });
    await story.light(BED_LAMP, false);
    await present('away');
    await story.post(made.id);
    expect(await story.hub.result('explain_automation', { agent_id: made.id })).toMatchObject({ cause: 'condition_false' });
    await story.isLit(BED_LAMP, false);
    await present('home');
    await story.post(made.id);
    await story.isLit(BED_LAMP, true);
    await story.shows(BED_LAMP, ['LevelControl', 'currentLevel'], 203);
  });

  test('rooms are made and ordered by moving devices into them, and one wish then reaches the room', async () => {
    for (const device of ['hall-light', 'bedroom-lamp'])
      await story.hub.result('hub:set_device_area', { device_id: device, area: 'Test room' });
    await using all = await story.automation({
      name: 'room',
      yaml: `
        trigger: { type: webhook, name: go }
        actions: [{ tool: control_area, params: { area: Test room, what: lights, action: 'on' } }]`,
      allow: ['device:control:@area/test-room'],
    });
    for (const name of [HALL, BED_LAMP]) await story.light(name, false);
    await story.post(all.id);
    for (const name of [HALL, BED_LAMP]) await story.isLit(name, true);
    await story.hub.result('hub:set_device_area', { device_id: 'hall-light', area: 'Hall' });
    await story.hub.result('hub:set_device_area', { device_id: 'bedroom-lamp', area: 'Bedroom' });
  });

  test('the history tells how often a light was on, and for how long', async () => {
    await story.light(HALL, false);
    const start = new Date().toISOString();
    for (const isLit of [true, false, true, false]) {
      await story.light(HALL, isLit);
      await story.isLit(HALL, isLit);
    }
    const history = async () => {
      const { values } = await story.hub.result('query_sensor', { sensor_id: 'hall-light/is_on', time_range: { start } });
      return objectsOf(values).map(({ value }) => value);
    };
    await expect.poll(history, { timeout: 30_000, interval: 500 }).toEqual([1, 0, 1, 0]);
  });

  test('rooms with the label of one floor are switched by one step', async () => {
    for (const area of ['Hall', 'Bedroom']) await story.hub.result('hub:describe_area', { area, floor: 'Upstairs' });
    expect(await story.hub.get('/api/v1/areas')).toMatchObject({ floors: ['Upstairs'] });
    await using upstairs = await story.automation({
      name: 'upstairs',
      yaml: `
        trigger: { type: webhook, name: go }
        actions: [{ tool: control_area, params: { area: Upstairs, scope: floor, what: lights, action: 'on' } }]`,
      allow: [LIGHT],
    });
    for (const name of [HALL, BED_LAMP]) await story.light(name, false);
    await story.post(upstairs.id);
    for (const name of [HALL, BED_LAMP]) await story.isLit(name, true);
  });

  test('who wants to take a lamp away is told which automation uses it', async () => {
    await using reader = await story.automation({
      name: 'reading-light',
      yaml: `
        trigger: { type: webhook, name: go }
        actions: [{ tool: matter:bedroom_lamp_set_brightness, params: { brightness: 60 } }]`,
      allow: ['device:control:bedroom-lamp'],
    });
    const { devices } = await story.hub.result('hub:list_device_names', { name: 'bedroom-lamp' });
    expect(objectsOf(devices)[0]?.used_by).toContainEqual(expect.objectContaining({ kind: 'automation', id: reader.id }));
    await story.post(reader.id);
    await story.shows(BED_LAMP, ['LevelControl', 'currentLevel'], 152);
  });
});

describe('the automation tasks of a public data set', () => {
  test('a light goes on while a door is open, and off when it is closed or was open for too long', async () => {
    await using _ = await story.automation({
      name: 'door-light',
      yaml: `
        trigger: { type: reading, sensor_id: kitchen-window/is_open, equals: true }
        actions:
          - { tool: matter:bedroom_lamp_turn_on }
          - type: wait_until
            conditions: [{ type: reading, sensor_id: kitchen-window/is_open, equals: false }]
            timeout_seconds: 4
            on_timeout: continue
          - { tool: matter:bedroom_lamp_turn_off }
        cooldown_seconds: 0`,
      allow: ['sensor:read:kitchen-window/is_open', 'device:control:bedroom-lamp'],
    });
    await story.light(BED_LAMP, false);
    for (const closes of [true, false]) {
      await openWindow(true);
      await story.isLit(BED_LAMP, true);
      if (closes) await openWindow(false);
      await story.isLit(BED_LAMP, false);
    }
    await openWindow(false);
  });

  test('a player sounds when a door was left open, and not before', async () => {
    await using alert = await story.automation({
      name: 'left-open',
      yaml: `
        trigger: { type: reading, sensor_id: kitchen-window/is_open, equals: true, for_seconds: 2 }
        actions: [{ tool: matter:television_play }]`,
      allow: ['sensor:read:kitchen-window/is_open', 'device:control:television'],
    });
    await openWindow(true);
    await openWindow(false);
    expect(await story.runs(alert.id)).toBe(0);
    await openWindow(true);
    await story.shows('Television', ['MediaPlayback', 'currentState'], PLAYING);
    await openWindow(false);
  });

  test('a fan runs while the air is too damp, and gets no command that changes nothing', async () => {
    await using _ = await story.automation({
      name: 'damp',
      yaml: `
        parameters: { damp: { value: 60, minimum: 30, maximum: 90, unit: '%' } }
        trigger:
          - { type: reading, sensor_id: bath-hygrometer/humidity, above: { param: damp } }
          - { type: reading, sensor_id: bath-hygrometer/humidity, below: { param: damp } }
        actions:
          - type: choose
            options:
              - conditions:
                  - { type: expression, expr: trigger.value > params.damp }
                  - { type: reading, sensor_id: bedroom-fan/speed, equals: 0 }
                actions: [{ tool: matter:bedroom_fan_set_speed, params: { speed: 50 } }]
              - conditions:
                  - { type: expression, expr: trigger.value < params.damp }
                  - { type: reading, sensor_id: bedroom-fan/speed, above: 0 }
                actions: [{ tool: matter:bedroom_fan_stop_fan }]
        cooldown_seconds: 0`,
      allow: ['sensor:read:bath-hygrometer/humidity', 'sensor:read:bedroom-fan/speed', 'device:control:bedroom-fan'],
    });
    const fan = ['FanControl', 'percentCurrent'] as const;
    await dampen(70);
    await story.shows('Bedroom fan', fan, 50);
    await dampen(50);
    await story.shows('Bedroom fan', fan, 0);
    await story.hub.result('matter:bedroom_fan_set_speed', { speed: 30 });
    await dampen(75);
    await story.shows('Bedroom fan', fan, 30);
  });

  test('a robot that cleans pauses when somebody calls, and one that does not stays as it is', async () => {
    await using call = await story.automation({
      name: 'quiet',
      yaml: `
        trigger: { type: webhook, name: go }
        conditions: [{ type: reading, sensor_id: robot/operational_state, equals: running }]
        actions: [{ tool: matter:robot_pause }]
        cooldown_seconds: 0`,
      allow: ['sensor:read:robot/operational_state', 'device:control:robot'],
    });
    await story.post(call.id);
    expect(await story.hub.result('explain_automation', { agent_id: call.id })).toMatchObject({ cause: 'condition_false' });
    expect(await story.count('Robot', 'pause')).toBe(0);
    await story.sense('robot/operational_state', 'running', async () => {
      await story.hub.result('matter:robot_set_run_mode', { run_mode: 'cleaning' });
    });
    await story.post(call.id);
    await story.shows('Robot', ['RvcOperationalState', 'operationalState'], PAUSED);
  });
});

describe('triggers, conditions and steps', () => {
  test('a scene sets off steps that are done at the same time and again and again', async () => {
    await story.hub.result('core:save_scene', { name: 'Blink', area: 'Living room' });
    await using blink = await story.automation({
      name: 'blink',
      yaml: `
        trigger: { type: scene, scene_id: blink }
        actions:
          - type: parallel
            branches:
              - - type: repeat
                  count: 3
                  actions: [{ tool: matter:hall_light_turn_on }, { tool: matter:hall_light_turn_off }]
              - [{ tool: matter:bedroom_lamp_turn_on }]
          - { type: set_flag, flag: blinked, value: { expr: '1 + 2' }, for_seconds: 600 }`,
      allow: ['scene:read:blink', 'device:control:hall-light', 'device:control:bedroom-lamp', 'flag:set:blinked'],
    });
    await story.light(HALL, false);
    await story.light(BED_LAMP, false);
    const before = await story.count(HALL, 'on');
    await story.hub.result('scene:blink');
    await expect.poll(() => story.runs(blink.id), { timeout: 30_000 }).toBe(1);
    expect(await story.count(HALL, 'on')).toBe(before + 3);
    await story.isLit(BED_LAMP, true);
    expect(await story.hub.result('list_flags')).toMatchObject({ flags: expect.arrayContaining([expect.objectContaining({ value: 3 })]) });
  });

  test('the decision of a person and the arrival of a person set off lights', async () => {
    await using _ = await story.automation({
      name: 'welcome',
      yaml: `
        trigger:
          - { type: decision, decision: approved }
          - { type: presence, person: owner, becomes: home }
        actions:
          - type: choose
            options:
              - conditions: [{ type: expression, expr: 'trigger.type == "decision"' }]
                actions: [{ tool: matter:hall_light_turn_on }]
            otherwise: [{ tool: matter:bedroom_lamp_turn_on }]
        cooldown_seconds: 0`,
      allow: ['admin:approvals', 'presence:read', 'device:control:hall-light', 'device:control:bedroom-lamp'],
    });
    await story.light(HALL, false);
    await story.light(BED_LAMP, false);
    // The owner's own call of a lock needs an approval, which the owner gives.
    expect(await story.hub.call('matter:front_door_unlock', { pin: '1234' })).toMatchObject({ status: 'success' });
    await story.isLit(HALL, true);
    for (const presence of ['away', 'home']) await story.hub.result('set_presence', { person: 'owner', presence });
    await story.isLit(BED_LAMP, true);
  });
});

describe('the sun and the clock', () => {
  test('a lamp goes on at sunset and off before sunrise', async () => {
    await expect.poll(() => story.runs(sunset.id), { timeout: 120_000, interval: 500 }).toBe(2);
    expect(await story.count(LAMP, 'on')).toBe(1);
    await story.isLit(LAMP, false);
  });

  test('on vacation, a light is on in the evening for a while', async () => {
    await expect.poll(() => story.runs(vacation.id), { timeout: 120_000, interval: 500 }).toBe(1);
    expect([await story.count(KITCHEN, 'on'), await story.count(KITCHEN, 'off')]).toEqual([1, 1]);
    await story.isLit(KITCHEN, false);
  });

  test('after sunset, either door switches the lamp fully on for two seconds, if the house is guarded', async () => {
    await using _ = await story.automation({
      name: 'doors',
      yaml: `
        trigger:
          - { type: reading, sensor_id: kitchen-window/is_open, equals: true }
          - { type: reading, sensor_id: bath-sensor-contact-sensor/is_open, equals: true }
        conditions:
          - { type: sun, after: sunset, before: sunrise }
          - { type: flag, flag: guarded }
        actions:
          - { tool: matter:bedroom_lamp_set_brightness, params: { brightness: 100 } }
          - { type: wait, seconds: 2 }
          - { tool: matter:bedroom_lamp_turn_off }
        cooldown_seconds: 0`,
      allow: ['sensor:read:*', 'location:read:hub', 'flag:read:guarded', 'device:control:bedroom-lamp'],
    });
    await story.light(BED_LAMP, false);
    const before = await story.count(BED_LAMP, 'off');
    await openWindow(true);
    await openWindow(false);
    await story.isLit(BED_LAMP, false);
    await story.hub.result('set_flag', { flag: 'guarded', value: true });
    await openBath(true);
    await story.isLit(BED_LAMP, true);
    await story.shows(BED_LAMP, ['LevelControl', 'currentLevel'], 254);
    await story.isLit(BED_LAMP, false);
    expect(await story.count(BED_LAMP, 'off')).toBe(before + 1);
  });
});

describe('a run with a person in it', () => {
  test('good night: a button switches all lights off and the heating down, one after the other', async () => {
    await using _ = await story.automation({
      name: 'good-night',
      yaml: `
        trigger: { type: device_event, device_id: wall-button, event: InitialPress }
        actions:
          - { tool: control_area, params: { area: house, what: lights, action: 'off' } }
          - { type: wait, seconds: 2 }
          - { tool: matter:thermostat_set_temperature, params: { temperature: 18 } }
          - { type: notify, person: owner, message: { expr: '"Good night from " + trigger.device_id' } }`,
      allow: ['device:read:wall-button', LIGHT, 'device:control:thermostat', 'notice:send:owner'],
    });
    for (const name of LIGHTS) await story.light(name, true);
    await press();
    for (const name of LIGHTS) await story.isLit(name, false);
    await story.shows('Thermostat', ['Thermostat', 'occupiedHeatingSetpoint'], 1800);
    const texts = async () => objectsOf((await story.hub.result('hub:list_notices')).notices).map(({ text }) => text);
    await expect.poll(texts, { timeout: 30_000 }).toContain('Good night from wall-button');
  });

  test('a question waits over the death of the hub, and its answer heats the room', async () => {
    await using asking = await story.automation({
      name: 'heating',
      yaml: `
        trigger: { type: webhook, name: go }
        actions:
          - { type: ask, name: warm, person: owner, question: Warm the room?, answers: [warm, cold], timeout_seconds: 3600 }
          - type: choose
            options:
              - conditions: [{ type: expression, expr: answers.warm == "warm" }]
                actions: [{ tool: matter:thermostat_set_temperature, params: { temperature: 23 } }]`,
      allow: ['notice:send:owner', 'device:control:thermostat'],
    });
    await story.post(asking.id);
    const question = async () => objectsOf((await story.hub.result('hub:list_notices')).notices).find(({ kind }) => kind === 'question');
    await expect.poll(question, { timeout: 30_000 }).toMatchObject({ text: expect.stringContaining('Warm the room?') });
    await story.killHub();
    const { notice_id: id } = objectOf(await question());
    await expect.poll(async () => (await story.hub.call('matter:thermostat_read_thermostat')).status, { timeout: 60_000 }).toBe('success');
    expect(await story.hub.result('hub:answer_question', { question_id: String(id), answer: 'warm' })).toMatchObject({
      answered_by: 'owner',
    });
    await story.shows('Thermostat', ['Thermostat', 'occupiedHeatingSetpoint'], 2300);
  });
});
