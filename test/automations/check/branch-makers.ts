import type { JsonObject } from '../../../src/core/json.ts';
import {
  alone,
  at,
  between,
  clock,
  does,
  every,
  is,
  lamp,
  type Makers,
  paired,
  plug,
  press,
  quietRule,
  reading,
  USED,
  written,
} from './pair-parts.ts';

const flag = (name: string, value = true): JsonObject => ({ type: 'flag', flag: name, is: value });
const choose = (conditions: readonly JsonObject[], actions: readonly JsonObject[], otherwise: readonly JsonObject[] = []): JsonObject => ({
  type: 'choose',
  options: [{ conditions: [...conditions], actions: [...actions] }],
  otherwise: [...otherwise],
});
const waitUntil = (conditions: readonly JsonObject[], minutes: number): JsonObject => ({
  type: 'wait_until',
  conditions: [...conditions],
  timeout_seconds: minutes * 60,
  on_timeout: 'stop',
});
const wait = (minutes: number): JsonObject => ({ type: 'wait', seconds: minutes * 60 });
const hours = (from: number, to: number) => between(clock(from * 60), clock(to * 60));

/** Pairs of automations that choose, wait until something holds, repeat, and do things at the same time. */
export const BRANCHES: Readonly<Record<string, Makers>> = {
  opposite_effects: {
    conflicting: [
      (dice) => {
        const [room, hour] = [dice.of(USED), dice.whole(7, 19)];
        const time = clock(hour * 60 + dice.whole(0, 59));
        const choice = choose([hours(hour - 1, hour + 2)], [lamp(room, 'on')], [lamp(room, 'off')]);
        const twice = [at(time), at(clock((hour + 4) * 60))];
        return paired(dice, 'the option of that hour', written(twice, [choice]), written(at(time), [lamp(room, 'off')]));
      },
      (dice) => {
        const [room, time] = [dice.of(USED), dice.clock(6, 20)];
        const a = written(at(time), [choose([flag('vacation_mode')], [does(`${room}_heating_set`, { value: 15 })])]);
        const b = written(at(time), [does(`${room}_heating_set`, { value: dice.whole(18, 22) })], { conditions: [flag('vacation_mode')] });
        return paired(dice, 'an option and a condition on the same flag', a, b);
      },
      (dice) => {
        const [room, hour, minutes] = [dice.of(USED), dice.whole(6, 20), dice.whole(1, 40)];
        const both = { type: 'parallel', branches: [[wait(minutes), lamp(room, 'on')], [does(`${room}_cover_open`)]] };
        const later = clock(hour * 60 + minutes);
        return paired(
          dice,
          'a branch that waits',
          written(at(clock(hour * 60)), [both]),
          written(at(later), [does(`${room}_lights`, { on: false })]),
        );
      },
      (dice) => {
        const [room, time] = [dice.of(['kitchen', 'hall', 'bath']), dice.clock(6, 20)];
        const night = waitUntil([flag('night')], 60);
        const a = written(at(time), [night, does('scene_night')]);
        const b = written(reading(`${room}-sensor/illuminance`, { below: 20 }), [lamp(room, 'on')], { conditions: [flag('night')] });
        return paired(dice, 'a scene after a wait, and a state', a, b);
      },
    ],
    harmless: [
      (dice) => {
        const [room, time] = [dice.of(USED), dice.clock(6, 20)];
        const set = (value: number) => does(`${room}_heating_set`, { value });
        const a = written(at(time), [choose([flag('vacation_mode')], [set(15)], [set(21)])]);
        return paired(dice, 'the other option', a, written(at(time), [set(15)], { conditions: [flag('vacation_mode')] }));
      },
      (dice) => {
        const [room, hour] = [dice.of(USED), dice.whole(7, 18)];
        const time = clock(hour * 60 + dice.whole(0, 59));
        const choice = choose([hours(hour + 1, hour + 3)], [lamp(room, 'off')], [lamp(room, 'on')]);
        const twice = [at(time), at(clock((hour + 2) * 60))];
        return paired(dice, 'an option of other hours', written(twice, [choice]), written(at(time), [lamp(room, 'on')]));
      },
      (dice) => {
        const [room, time] = [dice.of(USED), dice.clock(6, 20)];
        const a = written(at(time), [waitUntil([flag('night')], 60), lamp(room, 'off')]);
        const b = written(reading(`${room}-sensor/illuminance`, { below: 20 }), [lamp(room, 'on')], { conditions: [flag('night', false)] });
        return paired(dice, 'after a wait that excludes the other', a, b);
      },
      (dice) => {
        const [room, limit] = [dice.of(USED), dice.whole(16, 22)];
        const cold = reading(`${room}-sensor/temperature`, { below: limit });
        const choices = [choose([cold], [plug(room, 'on')]), choose([{ type: 'not', conditions: [cold] }], [plug(room, 'off')])];
        return alone(dice, 'two choices that exclude each other', written(every(900), choices));
      },
    ],
  },
  loop: {
    conflicting: [
      (dice) => {
        const room = dice.of(USED);
        const turned = choose([is(room, 'lamp', true)], [lamp(room, 'off')], [lamp(room, 'on')]);
        const changed = reading(`${room}-lamp/is_on`, { changes: true });
        return alone(dice, 'itself by a choice', written(changed, [turned], { max_runs_per_hour: 5 }));
      },
    ],
    harmless: [
      (dice) => {
        const room = dice.of(USED);
        const choice = choose([{ type: 'flag', flag: 'night' }], [lamp(room, 'on')], [plug(room, 'on')]);
        return paired(
          dice,
          'a choice of the same',
          written(is(room, 'lamp', true), [choice]),
          written(is(room, 'plug', true), [lamp(room, 'on')]),
        );
      },
    ],
  },
  never_holds: {
    conflicting: [
      (dice) => {
        const room = dice.of(USED);
        const choice = choose([is(room, 'lamp', false)], [plug(room, 'off')]);
        return alone(dice, 'an option that the trigger excludes', written(is(room, 'lamp', true), [choice]));
      },
      (dice) => {
        const [room, hour] = [dice.of(USED), dice.whole(7, 18)];
        const choice = choose([hours(hour + 1, hour + 3)], [lamp(room, 'on')]);
        return alone(dice, 'an option of other hours than the trigger', written(at(clock(hour * 60)), [choice]));
      },
      (dice) => {
        const [room, limit] = [dice.of(USED), dice.whole(16, 22)];
        const cold = reading(`${room}-sensor/temperature`, { below: limit });
        const options = [cold, reading(`${room}-sensor/temperature`, { below: limit - 2 })].map((condition) => ({
          conditions: [condition],
          actions: [plug(room, 'on')],
        }));
        return alone(dice, 'an option that an earlier one includes', written(every(3600), [{ type: 'choose', options, otherwise: [] }]));
      },
    ],
    harmless: [
      (dice) => {
        const [room, limit] = [dice.of(USED), dice.whole(16, 22)];
        const options = [limit - 2, limit].map((below) => ({
          conditions: [reading(`${room}-sensor/temperature`, { below })],
          actions: [plug(room, 'on')],
        }));
        return alone(dice, 'options in steps', written(every(3600), [{ type: 'choose', options, otherwise: [] }]));
      },
      (dice) => {
        const [room, hour] = [dice.of(USED), dice.whole(7, 18)];
        const steps = [wait(90), choose([hours(hour + 1, hour + 3)], [lamp(room, 'on')])];
        return alone(dice, 'an option of the hours after a wait', written(at(clock(hour * 60)), steps));
      },
    ],
  },
  wear: {
    conflicting: [
      (dice) => {
        const room = dice.of(USED);
        const choice = choose([reading(`${room}-sensor/temperature`, { below: 20 })], [plug(room, 'on')], [plug(room, 'off')]);
        return alone(dice, 'a choice each two minutes', written(every(dice.whole(60, 120)), [choice]));
      },
      (dice) => {
        const room = dice.of(USED);
        const round = { type: 'repeat', count: dice.whole(8, 12), actions: [plug(room, 'on'), wait(0.1), plug(room, 'off'), wait(0.1)] };
        return alone(dice, 'rounds each half hour', written(every(1800), [round]));
      },
    ],
    harmless: [
      (dice) => {
        const room = dice.of(USED);
        const choice = choose([reading(`${room}-sensor/temperature`, { below: 20 })], [plug(room, 'on')], [plug(room, 'off')]);
        return alone(dice, 'a choice each five minutes', written(every(dice.whole(300, 600)), [choice]));
      },
    ],
  },
  waits_at_night: {
    conflicting: [
      (dice) =>
        alone(dice, 'an option in the evening', written(every(3600), [choose([hours(dice.whole(17, 20), 23)], [does('door_unlock')])])),
    ],
    harmless: [
      (dice) =>
        alone(
          dice,
          'an option of the day',
          written(every(3600), [choose([hours(dice.whole(7, 9), dice.whole(18, 21))], [does('door_unlock')])]),
        ),
      (dice) =>
        alone(
          dice,
          'after a wait for the morning',
          written(at('23:00'), [waitUntil([hours(7, 9)], 600), does('door_unlock'), lamp(dice.of(USED), 'on')]),
        ),
    ],
  },
  refused_by_rule: {
    conflicting: [
      (dice) => {
        const room = dice.of(USED);
        const choice = choose([hours(dice.whole(17, 21), 23)], [does(`${room}_cover_close`)]);
        return alone(dice, 'an option of its hours', written(press(room), [choice]), quietRule(`${room}-cover`, '20:00', '07:00'));
      },
    ],
    harmless: [
      (dice) => {
        const room = dice.of(USED);
        const choice = choose([hours(dice.whole(7, 9), dice.whole(15, 20))], [does(`${room}_cover_close`)]);
        return alone(dice, 'an option of other hours', written(press(room), [choice]), quietRule(`${room}-cover`, '20:00', '07:00'));
      },
    ],
  },
};
