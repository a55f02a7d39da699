import { beforeAll, describe, expect, test } from 'vitest';
import { CONFIDENT_FROM } from '../../../src/tools/search/confidence.ts';
import { type FixtureHome, fixtureHome, nameOf, rowsOf } from './fixture-home.ts';

let home: FixtureHome;
beforeAll(async () => {
  home = await fixtureHome();
});

const first = (text: string) => {
  const [match] = home.find(text).matches;
  return match ? nameOf(match.tool) : '-';
};
const firstTen = (text: string) => {
  const { matches, readings } = home.find(text);
  return [
    ...matches.flatMap(({ params }) => (typeof params?.sensor_id === 'string' ? [params.sensor_id] : [])),
    ...readings.map(({ id }) => id),
  ];
};

describe('the files of sentences', () => {
  test('a wish finds its tool first, surely, and never the opposite', () => {
    const rows = rowsOf<readonly [string, string]>('wishes.json');
    const wrong = rows.filter(([text, tool]) => first(text) !== tool).map(([text]) => [text, first(text)]);
    expect(wrong).toEqual([]);
    expect(rows.filter(([text]) => home.find(text).isUnsure)).toEqual([]);
  });

  test('the parts of a compound are asked for one by one', () => {
    const rows = rowsOf<readonly [string, string]>('compounds.json');
    const wrong = rows.filter(([text, tool]) => first(text) !== tool).map(([text]) => [text, first(text)]);
    // Seven of eight.
    expect(wrong.length, JSON.stringify(wrong)).toBeLessThanOrEqual(rows.length / 8);
  });

  test('a question about a state leads to what reads it, and never to what acts', () => {
    const rows = rowsOf<readonly [string, readonly string[]]>('questions.json');
    const wrong = rows.filter(([text, ids]) => !firstTen(text).some((id) => ids.includes(id))).map(([text]) => [text, firstTen(text)]);
    expect(rows).toHaveLength(40);
    expect(wrong.length, JSON.stringify(wrong)).toBeLessThanOrEqual(4);
    const acting = rows.filter(([text]) => home.find(text).matches.some(({ tool }) => tool.definition.execution.hasSideEffects));
    expect(acting).toEqual([]);
  });

  test('what a family says leads first to what helps, or the search says that it is unsure', () => {
    const rows = rowsOf<readonly [string, readonly string[]]>('family.json');
    const said = (text: string) => {
      const { matches, isUnsure } = home.find(text);
      const sensor = matches[0]?.params?.sensor_id;
      return isUnsure ? '?' : typeof sensor === 'string' ? sensor : first(text);
    };
    const wrong = rows.filter(([text, right]) => !right.includes(said(text))).map(([text]) => [text, said(text)]);
    expect(rows).toHaveLength(40);
    // Which lamp is on is told behind the light of day, and an hour is taken for percent.
    const known = ['wake me up with the bedroom lamp at 7', 'are all the lights off', "what's on in the living room"];
    expect(wrong.map(([text]) => text).toSorted()).toEqual(known.toSorted());
  });

  test.each([
    ['make the bedroom pitch black', 'on'],
    ['water the garden', 'close'],
    ['charge the car', 'disable'],
    ['it is too dark in the bedroom', 'off'],
  ])('whoever tells how it should be is never led to the opposite: %s', (text, opposite) => {
    const titles = home.find(text).matches.map(({ tool }) => tool.definition.metadata.title.toLowerCase().split(' '));
    expect(titles.length).toBeGreaterThan(0);
    expect(titles.filter((words) => words.includes(opposite))).toEqual([]);
  });

  test('what this home cannot do is not surely found', () => {
    const rows = rowsOf<string>('foreign.json');
    const sure = rows
      .filter((text) => !home.find(text).isUnsure)
      .map((text) => [text, first(text), home.find(text).matches[0]?.confidence]);
    expect(sure.length, JSON.stringify(sure)).toBeLessThanOrEqual(0.03 * rows.length);
  });
});

describe('a confidence', () => {
  test('is a share, and what reaches the threshold is not unsure', () => {
    const { matches, isUnsure } = home.find('turn on the hall light');
    expect(isUnsure).toBe(false);
    for (const { confidence } of matches) expect(confidence).toBeGreaterThan(0);
    for (const { confidence } of matches) expect(confidence).toBeLessThanOrEqual(1);
    expect(matches[0]?.confidence).toBeGreaterThanOrEqual(CONFIDENT_FROM);
  });

  test.each(['bedrom lapm on', 'turn on the lapm'])('is low where only a correction of the spelling finds something: %s', (text) => {
    const { isUnsure, matches } = home.find(text);
    expect(matches.length).toBeGreaterThan(0);
    expect(isUnsure).toBe(true);
  });

  test.each(['order two pizzas', 'who won the game last night', 'turn the sauna on'])('finds nothing for junk: %s', (text) =>
    expect(home.find(text).matches).toEqual([]),
  );
});

describe('what is named and exists', () => {
  test('rules out tools of other rooms', () => {
    const ofDevices = (text: string) => home.find(text).matches.filter(({ tool }) => tool.definition.metadata.device !== undefined);
    const areas = (text: string) => new Set(ofDevices(text).map(({ tool }) => tool.definition.metadata.area));
    expect([...areas('close the kitchen window')].filter((area) => area !== 'Kitchen')).toEqual([]);
    expect(areas('turn on the light in the bedroom')).toEqual(new Set(['Bedroom']));
  });

  test('is found in vain where a word for it is missing: the back door is not the front door', () => {
    const { matches, isUnsure } = home.find('unlock the back door');
    expect(isUnsure).toBe(true);
    for (const { reasons } of matches) expect(reasons.join()).not.toContain('device: back');
    expect(home.find('open the garage door').matches).toEqual([]);
  });
});

describe('what was said not to be done', () => {
  test.each([
    ["don't charge the car now", 'Enable charging'],
    ['do not turn on the bedroom lamp', 'Turn on'],
    ['never unlock the front door', 'Unlock'],
    ['Mach das Flurlicht nicht an', 'Turn on'],
    ["n'ouvre pas le volet de la chambre", 'Open'],
  ])('is never found, and its opposite is not done without asking: %s', (text, title) => {
    const { matches, isUnsure } = home.find(text);
    expect(matches.map(({ tool }) => tool.definition.metadata.title)).not.toContain(title);
    expect(isUnsure).toBe(true);
  });

  test("is something else where `don't` forbids nothing", () =>
    expect(first("don't forget to lock the front door")).toBe('front-door Lock'));
});

describe('which one', () => {
  test('is asked where several devices fit as well', () => {
    const devices = home.find('turn on the lamp').whichOne.map(({ tool }) => tool.definition.metadata.device);
    expect(devices.toSorted()).toEqual(['bedroom-lamp', 'living-room-lamp']);
    expect(home.find('turn on the lamp in the bedroom').whichOne).toEqual([]);
  });

  test('is all of them where all are meant, and never a tool that administers', () => {
    const { whichOne, isForAll } = home.find('turn off all the lights');
    expect(isForAll).toBe(true);
    expect(whichOne.map(({ tool }) => nameOf(tool)).toSorted()).toEqual(
      ['bedroom-lamp', 'hall-light', 'kitchen-ceiling', 'living-room-lamp'].map((device) => `${device} Turn off`),
    );
    for (const text of ['turn everything off', 'good night']) {
      for (const { tool } of home.find(text).matches) expect(tool.definition.namespace, text).not.toBe('hub');
      for (const { tool } of home.find(text).matches) expect(tool.definition.name, text).not.toBe('text_search');
    }
  });
});

describe('two wishes in one sentence', () => {
  test.each([
    ['dim the lights and close the blinds', ['Set brightness', 'Close']],
    ['lock the front door, then turn off the hall light', ['Lock', 'Turn off']],
    ['schließ das Rollo und mach das Flurlicht aus', ['Close', 'Turn off']],
  ])('are answered in turn: %s', (text, titles) =>
    expect(
      home
        .find(text)
        .matches.slice(0, titles.length)
        .map(({ tool }) => tool.definition.metadata.title),
    ).toEqual(titles),
  );

  test('are one where the second is only another thing', () =>
    expect(home.find('turn on the hall and bedroom lights').matches.length).toBeGreaterThan(0));
});

describe('a language that is not known', () => {
  test.each(['打开厨房的灯', 'रसोई की बत्ती जलाओ', 'включи свет на кухне', 'włącz światło w kuchni'])('is told: %s', (text) => {
    const { note, matches, isUnsure } = home.find(text);
    expect(note).toContain('not known');
    expect(matches).toEqual([]);
    expect(isUnsure).toBe(true);
  });

  test.each(['turn on the lamp', 'Licht an', 'allume la lampe', 'Wohnzimmerlampe an'])('is not told of one that is: %s', (text) =>
    expect(home.find(text).note).toBeUndefined(),
  );
});

describe('beside tools', () => {
  test('the devices, readings and areas of a sentence are found', () => {
    const { devices, areas } = home.find('bedroom');
    expect(devices.map(({ id }) => id)).toContain('bedroom-lamp');
    expect(areas.map(({ id }) => id)).toEqual(['bedroom']);
    const { matches, readings } = home.find('is the car charging?');
    expect(readings[0]?.id).toMatch(/^car-charger\//);
    expect(matches[0]?.tool.definition.name).toBe('query_sensor');
    expect(matches[0]?.params).toEqual({ sensor_id: readings[0]?.id });
  });
});
