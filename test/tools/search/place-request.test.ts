import { beforeAll, describe, expect, test } from 'vitest';
import { type FixtureHome, fixtureHome, nameOf } from './fixture-home.ts';

let home: FixtureHome;
beforeAll(async () => {
  home = await fixtureHome();
});

/** What the tool for a place would do, as `off lights house`, for each match with it. */
const placed = (text: string) =>
  home
    .find(text)
    .matches.flatMap(({ tool, params }) =>
      nameOf(tool) === 'control_area' && params ? [`${params.action} ${params.what} ${params.area}`] : [],
    );

describe('a sentence about a place finds control_area with its parameters', () => {
  test.each([
    ['all lights off', ['off lights house']],
    ['turn all the lights off please', ['off lights house']],
    ['alle Lichter aus', ['off lights house']],
    ['mach alle Lichter im Haus aus', ['off lights house']],
    ['turn everything off upstairs', ['off lights Upstairs', 'off climate Upstairs']],
    ['mach oben alles aus', ['off lights Upstairs', 'off climate Upstairs']],
    ['alles aus im Obergeschoss', ['off lights Upstairs', 'off climate Upstairs']],
    ['close all blinds', ['close covers house']],
    ['fahr alle Rollläden runter', ['close covers house']],
    ['open all shutters upstairs', ['open covers Upstairs']],
    ['turn off all the lights downstairs', ['off lights Downstairs']],
    ['close the blinds in the bedroom', ['close covers Bedroom']],
    ['schließ die Rollläden im Schlafzimmer', ['close covers Bedroom']],
    ['kitchen and bedroom lights off', ['off lights Bedroom', 'off lights Kitchen']],
  ])('%s', (text, wanted) => expect(placed(text)).toEqual(wanted));

  test('first and surely if it means several devices, and after the device itself if there is only one', () => {
    const all = home.find('turn all lights off');
    expect([all.isUnsure, all.matches.map(({ tool }) => nameOf(tool))[0]]).toEqual([false, 'control_area']);
    expect(home.find('close the blinds in the bedroom').matches.map(({ tool }) => nameOf(tool))[0]).toBe('bedroom-blind Close');
  });
});

test.each([
  'turn off all lights in the sauna',
  'turn off all lights but the kitchen',
  'lock all doors',
  'turn off all fans',
  'turn on all plugs',
  'do not turn all lights off',
  'are all lights off',
  'turn off the light',
  'all lights',
])('what is not about lights, covers or climate of a known place finds no place: %s', (text) => expect(placed(text)).toEqual([]));
