import { BRANCHES } from './branch-makers.ts';
import {
  alone,
  at,
  between,
  clock,
  Dice,
  does,
  every,
  is,
  lamp,
  type MadePair,
  type Makers,
  paired,
  plug,
  press,
  quietRule,
  reading,
  USED,
  written,
} from './pair-parts.ts';

const OPPOSITE: Makers = {
  conflicting: [
    (dice) => {
      const [room, time] = [dice.of(USED), dice.clock(6, 22)];
      return paired(
        dice,
        'on and off at the same minute',
        written(at(time), [lamp(room, 'on')]),
        written(at(time, ['mon', dice.of(['tue', 'sun'])]), [lamp(room, 'off')]),
      );
    },
    (dice) => {
      const [room, time] = [dice.of(['kitchen', 'hall', 'bath']), dice.clock(6, 22)];
      return paired(
        dice,
        'a lamp against a scene',
        written(at(time), [lamp(room, 'on')]),
        written([at('04:10'), at(time)], [does('scene_night')]),
      );
    },
    (dice) => {
      const [room, time] = [dice.of(USED), dice.clock(6, 22)];
      return paired(
        dice,
        'a lamp against its room',
        written(at(time), [lamp(room, 'off')]),
        written(at(time), [does(`${room}_lights`, { on: true })]),
      );
    },
    (dice) => {
      const [room, limit] = [dice.of(USED), dice.whole(15, 25)];
      const sensor = `${room}-sensor/temperature`;
      const [cold, warm] = [reading(sensor, { below: limit + dice.whole(1, 3) }), reading(sensor, { above: limit })];
      return paired(dice, 'limits of one sensor that overlap', written(cold, [plug(room, 'on')]), written(warm, [plug(room, 'off')]));
    },
    (dice) => {
      const [room, start] = [dice.of(USED), dice.whole(6, 18)];
      const a = written(reading(`${room}-sensor/occupancy`, { equals: 'occupied' }), [does(`${room}_cover_open`)], {
        conditions: [between(clock(start * 60), clock((start + 3) * 60))],
      });
      const b = written(reading(`${room}-sensor/temperature`, { above: 26 }), [does(`${room}_cover_close`)], {
        conditions: [between(clock((start + 2) * 60), clock((start + 5) * 60))],
      });
      return paired(dice, 'states in windows that overlap', a, b);
    },
    (dice) => {
      const [room, time, degrees] = [dice.of(USED), dice.clock(5, 9), dice.whole(16, 20)];
      const set = (value: number, days: readonly string[]) => written(at(time, days), [does(`${room}_heating_set`, { value })]);
      return paired(
        dice,
        'setpoints on days that overlap',
        set(degrees, ['mon', 'tue', 'wed']),
        set(degrees + dice.whole(1, 4), ['wed', 'thu']),
      );
    },
    (dice) => {
      const room = dice.of(USED);
      const event = dice.of(['InitialPress', 'LongPress']);
      return paired(
        dice,
        'one press',
        written(press(room, event), [does(`${room}_cover_open`)]),
        written(press(room, event), [does(`${room}_cover_close`)]),
      );
    },
    (dice) => {
      const room = dice.of(USED);
      const hour = dice.whole(22, 23);
      const night = written(reading(`${room}-sensor/illuminance`, { below: 20 }), [does(`${room}_lamp_dim`, { value: 30 })], {
        conditions: [between('21:00', '05:00')],
      });
      return paired(
        dice,
        'a time within a window over midnight',
        night,
        written(at(clock(hour * 60 + dice.whole(0, 59))), [lamp(room, 'off')]),
      );
    },
  ],
  harmless: [
    (dice) => {
      const [room, start, length] = [dice.of(USED), dice.whole(6, 12), dice.whole(2, 5)];
      const window = (from: number) => ({ conditions: [between(clock(from * 60), clock((from + length) * 60))] });
      const a = written(reading(`${room}-sensor/occupancy`, { equals: 'occupied' }), [does(`${room}_cover_open`)], window(start));
      const b = written(reading(`${room}-sensor/temperature`, { above: 26 }), [does(`${room}_cover_close`)], window(start + length));
      return paired(dice, 'adjacent windows', a, b);
    },
    (dice) => {
      const [[one, other], time] = [dice.two(USED), dice.clock(6, 22)];
      return paired(dice, 'different rooms', written(at(time), [lamp(one, 'on')]), written(at(time), [lamp(other, 'off')]));
    },
    (dice) => {
      const [room, time] = [dice.of(USED), dice.clock(6, 22)];
      return paired(
        dice,
        'the same direction',
        written(at(time), [lamp(room, 'on')]),
        written(at(time), [does(`${room}_lights`, { on: true }), lamp(room, 'on')]),
      );
    },
    (dice) => {
      const [room, limit] = [dice.of(USED), dice.whole(15, 20)];
      const sensor = `${room}-sensor/temperature`;
      const [cold, warm] = [reading(sensor, { below: limit }), reading(sensor, { above: limit + dice.whole(0, 3) })];
      return paired(dice, 'hysteresis', written(cold, [plug(room, 'on')]), written(warm, [plug(room, 'off')]));
    },
    (dice) => {
      const [room, time] = [dice.of(USED), dice.clock(6, 22)];
      return paired(
        dice,
        'different days',
        written(at(time, ['mon', 'tue', 'wed']), [lamp(room, 'on')]),
        written(at(time, ['thu', 'sat']), [lamp(room, 'off')]),
      );
    },
    (dice) => {
      const [room, time] = [dice.of(['bedroom', 'study']), dice.clock(6, 22)];
      return paired(dice, 'a scene without the lamp', written(at(time), [lamp(room, 'on')]), written(at(time), [does('scene_night')]));
    },
    (dice) => {
      const [room, [one, other]] = [dice.of(USED), dice.two(USED)];
      return paired(dice, 'two buttons', written(press(one), [lamp(room, 'on')]), written(press(other), [lamp(room, 'off')]));
    },
    (dice) => {
      const [room, hour] = [dice.of(USED), dice.whole(6, 20)];
      const [on, off] = [clock(hour * 60 + 10), clock(hour * 60 + 11)];
      return paired(dice, 'one minute apart', written(at(on), [lamp(room, 'on')]), written(at(off), [lamp(room, 'off')]));
    },
  ],
};

const LOOP: Makers = {
  conflicting: [
    (dice) => {
      const room = dice.of(USED);
      return paired(
        dice,
        'off when on, on when off',
        written(is(room, 'lamp', true), [lamp(room, 'off')]),
        written(is(room, 'lamp', false), [lamp(room, 'on')]),
      );
    },
    (dice) => {
      const [one, other] = dice.two(USED);
      const toggles = (from: string, to: string) =>
        written(reading(`${from}-lamp/is_on`, { changes: true }), [does(`${to}_plug_toggle`)], { max_runs_per_hour: 10 });
      const back = written(reading(`${other}-plug/is_on`, { changes: true }), [does(`${one}_lamp_toggle`)], { max_runs_per_hour: 10 });
      return paired(dice, 'two devices that toggle each other', toggles(one, other), back);
    },
    (dice) => {
      const room = dice.of(['kitchen', 'hall', 'bath']);
      return paired(
        dice,
        'through a scene',
        written(is(room, 'lamp', true), [does('scene_night')]),
        written(is(room, 'lamp', false), [does(`${room}_lights`, { on: true })]),
      );
    },
    (dice) => {
      const room = dice.of(USED);
      return alone(
        dice,
        'itself',
        written(reading(`${room}-lamp/is_on`, { changes: true }), [does(`${room}_lamp_toggle`)], { max_runs_per_hour: 5 }),
      );
    },
    (dice) => {
      const [room, limit] = [dice.of(USED), dice.whole(20, 80)];
      const [dark, bright] = [
        reading(`${room}-sensor/illuminance`, { below: limit }),
        reading(`${room}-sensor/illuminance`, { above: limit + dice.whole(0, 60) }),
      ];
      return paired(dice, 'through the light in the room', written(dark, [lamp(room, 'on')]), written(bright, [lamp(room, 'off')]));
    },
  ],
  harmless: [
    (dice) => {
      const [[one, other], on] = [dice.two(USED), dice.whole(0, 1) === 1];
      const word = on ? 'on' : 'off';
      return paired(
        dice,
        'two lamps that follow each other',
        written(is(one, 'lamp', on), [lamp(other, word)]),
        written(is(other, 'lamp', on), [lamp(one, word)]),
      );
    },
    (dice) => {
      const [one, other] = dice.two(USED);
      return paired(
        dice,
        'a chain without a way back',
        written(is(one, 'lamp', true), [plug(other, 'on')]),
        written(is(other, 'plug', true), [does(`${other}_cover_open`)]),
      );
    },
    (dice) => {
      const [room, limit] = [dice.of(USED), dice.whole(20, 80)];
      const [dark, bright] = [
        reading(`${room}-sensor/illuminance`, { below: limit }),
        reading(`${room}-sensor/illuminance`, { above: limit + dice.whole(400, 900) }),
      ];
      return paired(dice, 'limits of light that are far apart', written(dark, [lamp(room, 'on')]), written(bright, [lamp(room, 'off')]));
    },
    (dice) => {
      const [one, other] = dice.two(USED);
      const [dark, bright] = [reading(`${one}-sensor/illuminance`, { below: 50 }), reading(`${one}-sensor/illuminance`, { above: 60 })];
      return paired(dice, 'light in another room', written(dark, [lamp(other, 'on')]), written(bright, [lamp(other, 'off')]));
    },
    (dice) => {
      const room = dice.of(USED);
      return alone(
        dice,
        'itself, but it stays so',
        written(reading(`${room}-lamp/is_on`, { changes: true }), [lamp(room, 'on')], { max_runs_per_hour: 5 }),
      );
    },
    (dice) => {
      const [one, other] = dice.two(USED);
      const follow = (from: string, to: string) =>
        written(reading(`${from}-lamp/brightness`, { changes: true }), [does(`${to}_lamp_dim`, { value: { trigger: 'value' } })], {
          max_runs_per_hour: 60,
        });
      return paired(dice, 'two dimmers that copy each other', follow(one, other), follow(other, one));
    },
  ],
};

const WEAR: Makers = {
  conflicting: [
    (dice) => alone(dice, 'a plug toggled each minute', written(every(dice.whole(60, 200)), [does(`${dice.of(USED)}_plug_toggle`)])),
    (dice) => {
      const room = dice.of(USED);
      return alone(
        dice,
        'a cover at each reading',
        written(reading(`${room}-sensor/temperature`, { changes: true }), [
          does(`${room}_cover_open`),
          does(`${room}_heating_set`, { value: { trigger: 'value' } }),
        ]),
      );
    },
    (dice) => {
      const room = dice.of(USED);
      return alone(
        dice,
        'setpoints at each reading',
        written(reading(`${room}-sensor/humidity`, { changes: true }), [does(`${room}_heating_set`, { value: { trigger: 'value' } })], {
          cooldown_seconds: dice.whole(10, 200),
        }),
      );
    },
  ],
  harmless: [
    (dice) => alone(dice, 'a plug toggled each half hour', written(every(dice.whole(1200, 3600)), [does(`${dice.of(USED)}_plug_toggle`)])),
    (dice) => alone(dice, 'a plug turned on again and again', written(every(60), [plug(dice.of(USED), 'on')])),
    (dice) => alone(dice, 'a lamp toggled each minute', written(every(dice.whole(60, 100)), [does(`${dice.of(USED)}_lamp_toggle`)])),
    (dice) => {
      const room = dice.of(USED);
      return alone(
        dice,
        'setpoints at most every hour',
        written(reading(`${room}-sensor/humidity`, { changes: true }), [does(`${room}_heating_set`, { value: { trigger: 'value' } })], {
          cooldown_seconds: 3600,
        }),
      );
    },
  ],
};

const NEVER_HOLDS: Makers = {
  conflicting: [
    (dice) => {
      const [room, limit] = [dice.of(USED), dice.whole(15, 25)];
      const sensor = `${room}-sensor/temperature`;
      return alone(
        dice,
        'above and below',
        written(at(dice.clock(6, 22)), [plug(room, 'on')], {
          conditions: [reading(sensor, { above: limit }), reading(sensor, { below: limit - dice.whole(0, 5) })],
        }),
      );
    },
    (dice) => {
      const [room, hour] = [dice.of(USED), dice.whole(3, 9)];
      return alone(
        dice,
        'a time outside of the window',
        written(at(clock(hour * 60)), [lamp(room, 'on')], { conditions: [between(clock(hour * 60 + dice.whole(1, 120)), '23:00')] }),
      );
    },
    (dice) => {
      const [room, hour] = [dice.of(USED), dice.whole(1, 10)];
      return alone(
        dice,
        'two windows without a common minute',
        written(press(room), [lamp(room, 'on')], {
          conditions: [between(clock(hour * 60), clock(hour * 60 + 60)), between(clock(hour * 60 + 60), clock(hour * 60 + 120))],
        }),
      );
    },
    (dice) => {
      const room = dice.of(USED);
      return alone(
        dice,
        'other days',
        written(at(dice.clock(6, 22), ['mon', 'tue']), [lamp(room, 'on')], { conditions: [between('00:00', '23:59', ['sat', 'sun'])] }),
      );
    },
    (dice) => {
      const [room, limit] = [dice.of(USED), dice.whole(15, 25)];
      const sensor = `${room}-sensor/temperature`;
      return alone(
        dice,
        'a trigger above, a condition below',
        written(reading(sensor, { above: limit }), [plug(room, 'off')], { conditions: [reading(sensor, { below: limit })] }),
      );
    },
  ],
  harmless: [
    (dice) => {
      const [room, limit] = [dice.of(USED), dice.whole(15, 25)];
      const sensor = `${room}-sensor/temperature`;
      return alone(
        dice,
        'above and below with a range',
        written(at(dice.clock(6, 22)), [plug(room, 'on')], {
          conditions: [reading(sensor, { above: limit }), reading(sensor, { below: limit + 1 })],
        }),
      );
    },
    (dice) => {
      const [room, hour] = [dice.of(USED), dice.whole(3, 9)];
      return alone(
        dice,
        'the first minute of the window',
        written(at(clock(hour * 60)), [lamp(room, 'on')], { conditions: [between(clock(hour * 60), '23:00')] }),
      );
    },
    (dice) => {
      const room = dice.of(USED);
      return alone(
        dice,
        'windows over midnight',
        written(press(room), [lamp(room, 'on')], { conditions: [between('22:00', '06:00'), between('05:59', '08:00')] }),
      );
    },
    (dice) => {
      const room = dice.of(USED);
      return alone(
        dice,
        'one common day',
        written(at(dice.clock(6, 22), ['fri', 'sat']), [lamp(room, 'on')], { conditions: [between('00:00', '23:59', ['sat', 'sun'])] }),
      );
    },
    (dice) => {
      const [room, limit] = [dice.of(USED), dice.whole(15, 25)];
      const [one, other] = dice.two(USED);
      return alone(
        dice,
        'two sensors',
        written(reading(`${one}-sensor/temperature`, { above: limit }), [plug(room, 'off')], {
          conditions: [reading(`${other}-sensor/temperature`, { below: limit })],
        }),
      );
    },
  ],
};

const NEVER_COMES: Makers = {
  conflicting: [
    (dice) =>
      alone(
        dice,
        'more than all humidity',
        written(reading(`${dice.of(USED)}-sensor/humidity`, { above: dice.whole(100, 150) }), [lamp(dice.of(USED), 'on')]),
      ),
    (dice) =>
      alone(
        dice,
        'a value that is none',
        written(reading(`${dice.of(USED)}-sensor/occupancy`, { equals: dice.of(['asleep', 'motion', 'yes']) }), [
          lamp(dice.of(USED), 'on'),
        ]),
      ),
    (dice) =>
      alone(dice, 'an event that is none', written(press(dice.of(USED), dice.of(['DoublePress', 'Turned'])), [lamp(dice.of(USED), 'on')])),
    (dice) => alone(dice, 'a device that is gone', written(press('cellar'), [lamp(dice.of(USED), 'on')])),
    (dice) =>
      alone(dice, 'a sensor that is gone', written(reading('cellar-sensor/temperature', { above: 20 }), [lamp(dice.of(USED), 'on')])),
    (dice) =>
      alone(
        dice,
        'colder than the sensor shows',
        written(reading(`${dice.of(USED)}-sensor/temperature`, { below: -dice.whole(41, 90) }), [plug(dice.of(USED), 'on')]),
      ),
  ],
  harmless: [
    (dice) =>
      alone(
        dice,
        'nearly all humidity',
        written(reading(`${dice.of(USED)}-sensor/humidity`, { above: dice.whole(90, 99) }), [lamp(dice.of(USED), 'on')]),
      ),
    (dice) =>
      alone(
        dice,
        'a value that comes',
        written(reading(`${dice.of(USED)}-sensor/occupancy`, { equals: dice.of(['occupied', 'unoccupied']) }), [lamp(dice.of(USED), 'on')]),
      ),
    (dice) => alone(dice, 'an event that comes', written(press(dice.of(USED), 'LongPress'), [lamp(dice.of(USED), 'on')])),
    (dice) =>
      alone(
        dice,
        'the coldest that the sensor shows',
        written(reading(`${dice.of(USED)}-sensor/temperature`, { below: -39 }), [plug(dice.of(USED), 'on')]),
      ),
    (dice) =>
      alone(
        dice,
        'true as the number 1',
        written(reading(`${dice.of(USED)}-plug/is_on`, { equals: dice.whole(0, 1) }), [does(`${dice.of(USED)}_cover_open`)]),
      ),
  ],
};

const PERMISSION: Makers = {
  conflicting: [
    (dice) => {
      const [one, other] = dice.two(USED);
      return alone(dice, 'another device', {
        ...written(at(dice.clock(6, 22)), [lamp(one, 'on')]),
        permissions: [`device:control:${other}-lamp`],
      });
    },
    (dice) => {
      const room = dice.of(USED);
      return alone(dice, 'to read only', {
        ...written(at(dice.clock(6, 22)), [lamp(room, 'on')]),
        permissions: ['device:read:*', `device:control:${room}-plug`],
      });
    },
    (dice) => {
      const room = dice.of(USED);
      return alone(dice, 'the sensor', {
        ...written(reading(`${room}-sensor/temperature`, { above: 20 }), [lamp(room, 'on')]),
        permissions: ['device:control:*'],
      });
    },
    (dice) =>
      alone(dice, 'part of a scene', {
        ...written(at(dice.clock(6, 22)), [does('scene_night')]),
        permissions: ['device:control:kitchen-lamp', 'device:control:hall-lamp'],
      }),
    (dice) =>
      alone(dice, 'they end before', {
        ...written(at(dice.clock(6, 22), ['sat', 'sun']), [lamp(dice.of(USED), 'on')]),
        endsInDays: dice.whole(1, 4),
      }),
  ],
  harmless: [
    (dice) => {
      const room = dice.of(USED);
      return alone(dice, 'just the device', {
        ...written(at(dice.clock(6, 22)), [lamp(room, 'on')]),
        permissions: [`device:control:${room}-lamp`],
      });
    },
    (dice) => {
      const room = dice.of(USED);
      return alone(dice, 'just the sensor', {
        ...written(reading(`${room}-sensor/temperature`, { above: 20 }), [lamp(room, 'on')]),
        permissions: ['device:control:*', `sensor:read:${room}-sensor/temperature`],
      });
    },
    (dice) =>
      alone(dice, 'they end after the first run', {
        ...written(at(dice.clock(6, 22), ['sat', 'sun']), [lamp(dice.of(USED), 'on')]),
        endsInDays: dice.whole(6, 9),
      }),
    (dice) =>
      alone(dice, 'they end, but it may run any time', { ...written(press(dice.of(USED)), [lamp(dice.of(USED), 'on')]), endsInDays: 1 }),
  ],
};

const NIGHT: Makers = {
  conflicting: [
    (dice) => alone(dice, 'unlocked late', written(at(dice.clock(22, 23)), [does('door_unlock')])),
    (dice) => alone(dice, 'unlocked early', written(at(dice.clock(0, 5)), [does('door_unlock')])),
    (dice) =>
      alone(
        dice,
        'a window into the night',
        written(press(dice.of(USED)), [does('door_unlock')], {
          conditions: [between(dice.clock(15, 20), dice.of(['22:30', '23:00', '01:00']))],
        }),
      ),
    (dice) =>
      alone(
        dice,
        'any time',
        written(reading(`${dice.of(USED)}-sensor/temperature`, { above: 60 }), [lamp(dice.of(USED), 'on'), does('door_unlock')]),
      ),
  ],
  harmless: [
    (dice) => alone(dice, 'unlocked by day', written(at(dice.clock(6, 21)), [does('door_unlock')])),
    (dice) => alone(dice, 'locked at night', written(at(dice.clock(22, 23)), [does('door_lock')])),
    (dice) =>
      alone(dice, 'a window of the day', written(press(dice.of(USED)), [does('door_unlock')], { conditions: [between('06:00', '22:00')] })),
  ],
};

const RULES: Makers = {
  conflicting: [
    (dice) => {
      const room = dice.of(USED);
      return alone(
        dice,
        'always',
        written(press(room), [plug(room, 'on')]),
        `rules:\n  - name: never\n    effect: deny\n    when: { device: ${room}-plug }`,
      );
    },
    (dice) => {
      const room = dice.of(USED);
      return alone(
        dice,
        'at its time',
        written(at(dice.clock(20, 23)), [does(`${room}_cover_close`)]),
        quietRule(`${room}-cover`, '20:00', '07:00'),
      );
    },
    (dice) => {
      const room = dice.of(USED);
      return alone(
        dice,
        'in a part of its window',
        written(press(room), [does(`${room}_cover_close`)], { conditions: [between('18:00', dice.clock(20, 23).replace(':00', ':30'))] }),
        quietRule(`${room}-cover`, '20:00', '07:00'),
      );
    },
    (dice) => {
      const room = dice.of(USED);
      return alone(
        dice,
        'by its value',
        written(at(dice.clock(6, 9)), [does(`${room}_heating_set`, { value: dice.whole(24, 28) })]),
        `rules:\n  - name: not too warm\n    effect: deny\n    when: { device: ${room}-heating, value: { name: heating_setpoint, above: 23 } }`,
      );
    },
  ],
  harmless: [
    (dice) => {
      const [room, other] = dice.two(USED);
      return alone(
        dice,
        'another device',
        written(press(room), [plug(room, 'on')]),
        `rules:\n  - name: never\n    effect: deny\n    when: { device: ${other}-plug }`,
      );
    },
    (dice) => {
      const room = dice.of(USED);
      return alone(
        dice,
        'just before it begins or when it ends',
        written(at(dice.of(['19:59', '07:00'])), [does(`${room}_cover_close`)]),
        quietRule(`${room}-cover`, '20:00', '07:00'),
      );
    },
    (dice) => {
      const room = dice.of(USED);
      return alone(
        dice,
        'on other days',
        written(at('21:00', dice.of([['mon'], ['tue', 'wed']])), [does(`${room}_cover_close`)]),
        quietRule(`${room}-cover`, '20:00', '23:00', ', days: [sat, sun]'),
      );
    },
    (dice) => {
      const room = dice.of(USED);
      return alone(
        dice,
        'by a value that is allowed',
        written(at(dice.clock(6, 9)), [does(`${room}_heating_set`, { value: dice.whole(18, 23) })]),
        `rules:\n  - name: not too warm\n    effect: deny\n    when: { device: ${room}-heating, value: { name: heating_setpoint, above: 23 } }`,
      );
    },
  ],
};

/** Returns the makers with those of automations that choose, wait and do things at the same time. */
function withBranches(kind: string, { conflicting, harmless }: Makers): Makers {
  const more = BRANCHES[kind];
  return { conflicting: [...conflicting, ...(more?.conflicting ?? [])], harmless: [...harmless, ...(more?.harmless ?? [])] };
}

const KINDS: Readonly<Record<string, Makers>> = {
  opposite_effects: withBranches('opposite_effects', OPPOSITE),
  loop: withBranches('loop', LOOP),
  wear: withBranches('wear', WEAR),
  never_holds: withBranches('never_holds', NEVER_HOLDS),
  never_comes: NEVER_COMES,
  permission: PERMISSION,
  waits_at_night: withBranches('waits_at_night', NIGHT),
  refused_by_rule: withBranches('refused_by_rule', RULES),
};

/** Makes pairs of all kinds in turn, half of them with the problem and half of them nearly. */
export function makePairs(count: number, random: () => number): readonly MadePair[] {
  const dice = new Dice(random);
  const kinds = Object.entries(KINDS);
  return Array.from({ length: count }, (_, index) => {
    const [kind, makers] = kinds[index % kinds.length] ?? ['', LOOP];
    const isConflict = Math.floor(index / kinds.length) % 2 === 0;
    const list = isConflict ? makers.conflicting : makers.harmless;
    const make = list[Math.floor(index / kinds.length / 2) % list.length];
    if (!make) throw new Error(`There is no maker of ${kind}`);
    return { kind, isConflict, ...make(dice) };
  });
}
