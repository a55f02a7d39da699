import { beforeAll, describe, expect, test } from 'vitest';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import type { RegisteredTool } from '../../../src/tools/definition/tool-definition.ts';
import { LexicalToolSearch } from '../../../src/tools/search/tool-search.ts';
import { processorMs } from '../../processor-time.ts';
import { described } from '../../profiles/device-fixtures.ts';
import { ToolHarness } from '../../profiles/tool-harness.ts';
import { namesOf } from './home-names-fixture.ts';

const HOME: readonly (readonly [id: string, type: string, name: string, area: string])[] = [
  ['hall', 'OnOffLight', 'Flurlicht', 'Flur'],
  ['stube', 'DimmableLight', 'Stehlampe', 'Wohnzimmer'],
  ['kuche', 'DimmableLight', 'Deckenlampe', 'Küche'],
  ['blind', 'WindowCovering', 'Rollo', 'Schlafzimmer'],
  ['barn-light', 'DimmableLight', 'Barn Lantern', 'Barn'],
  ['front', 'DoorLock', 'Front Door', 'Porch'],
  ['trv', 'Thermostat', 'Radiator', 'Nursery'],
  ['purifier', 'AirPurifier', 'Breeze', 'Nursery'],
  ['robot', 'RoboticVacuumCleaner', 'Dusty', 'Landing'],
  ['radio', 'Speaker', 'Sonos', 'Study'],
  ['tap', 'WaterValve', 'Hose', 'Orchard'],
  ['shelf', 'OnOffPlugInUnit', 'Café crème', 'Office'],
  ['tokyo', 'OnOffLight', '寝室のライト', '寝室'],
  ['climate', 'TemperatureSensor', 'Cellar probe', 'Cellar'],
];

let tools: readonly RegisteredTool[];
let search: LexicalToolSearch;

beforeAll(async () => {
  const devices = HOME.map(([id, type, name, area]) =>
    described(type, {
      hasAllElements: true,
      device: { id: parseDeviceId(id), name, area },
      ...(id === 'purifier' && { clusters: ['OnOff'] }),
    }),
  );
  const hub = await new ToolHarness(...devices).start();
  tools = hub.registry.all();
  const names = namesOf({ devices: { radio: ['ghetto blaster'] }, areas: { barn: { floor: 'Outside', aliases: ['Scheune'] } } });
  search = new LexicalToolSearch({ names, device: (id) => hub.home.get(parseDeviceId(id)) });
});

/** `<device> <title>` of the best match. */
function best(text: string): string {
  const metadata = search.search({ text }, tools).matches[0]?.tool.definition.metadata;
  return `${metadata?.device ?? '-'} ${metadata?.title ?? '-'}`;
}

describe('a sentence finds the tool of the right device and action', () => {
  test.each([
    ['could you switch the lantern in the barn on please', 'barn-light Turn on'],
    ['barn lantern off', 'barn-light Turn off'],
    ['set the barn to 35 percent brightness', 'barn-light Set brightness'],
    ['make the lantern a little darker', 'barn-light Make brighter or darker'],
    ['make the sonos quieter', 'radio Make louder or quieter'],
    ['louder in the study', 'radio Make louder or quieter'],
    ['lock up the front door', 'front Lock'],
    ['is the front door locked?', 'front Read lock'],
    ['let it be 19 degrees in the nursery', 'trv Set temperature'],
    ['water the orchard', 'tap Open'],
    ['send the robot back to its dock', 'robot Go home'],
    ['how warm is the cellar?', 'climate Read temperature'],
  ])('in English: %s', (text, expected) => expect(best(text)).toBe(expected));

  test.each([
    ['too dark in the barn', 'barn-light Turn on'],
    ["it's much too dark in the barn", 'barn-light Turn on'],
    ['im Wohnzimmer ist es zu dunkel', 'stube Turn on'],
    ['make it dark in the barn', 'barn-light Turn off'],
    ['please make the barn dark', 'barn-light Turn off'],
    ['I want it really dark in the barn for the film', 'barn-light Turn off'],
    ['make the barn a little darker', 'barn-light Make brighter or darker'],
    ['mach es dunkel in der Küche', 'kuche Turn off'],
    ['lights out in the barn', 'barn-light Turn off'],
    ['lights out everywhere', 'barn-light Turn off'],
    ['let there be light in the barn', 'barn-light Turn on'],
    ['it is too hot in the nursery', 'trv Make warmer or colder'],
    ['it is too cold in the nursery', 'trv Make warmer or colder'],
    ['es ist zu kalt im Nursery', 'trv Make warmer or colder'],
    ['it is stuffy in the nursery', 'purifier Turn on'],
    ['goodnight', 'front Lock'],
    ['bedtime in the barn', 'barn-light Turn off'],
  ])('where it says how it should be: %s', (text, expected) => expect(best(text)).toBe(expected));

  test('a colour that is dark is no darkness', () => expect(best('make the barn dark blue')).not.toContain('Turn off'));

  test.each([
    ['Mach das Licht im Flur aus', 'hall Turn off'],
    ['Schalte die Stehlampe ein', 'stube Turn on'],
    ['Wohnzimmerlampe an', 'stube Turn on'],
    ['dimme die Küchenlampe auf 20 Prozent', 'kuche Set brightness'],
    ['Kuechenlampe aus', 'kuche Turn off'],
    ['Rollo im Schlafzimmer öffnen', 'blind Open'],
    ['Schlafzimmer Rolladen schliessen', 'blind Close'],
    ['eteins la lumiere de la cuisine', 'kuche Turn off'],
    ['spegni la luce in cucina', 'kuche Turn off'],
    ['doe de lamp in de keuken uit', 'kuche Turn off'],
    ['apaga la luz de la cocina', 'kuche Turn off'],
    ['寝室のライト turn off', 'tokyo Turn off'],
    ['cafe creme on', 'shelf Turn on'],
  ])('in other languages and scripts: %s', (text, expected) => expect(best(text)).toBe(expected));

  test.each([
    ['turn off the barn lantren', 'barn-light Turn off'],
    ['unlock the frnt door', 'front Unlock'],
    ['stehlmape an', 'stube Turn on'],
  ])('with a slip of the pen: %s', (text, expected) => expect(best(text)).toBe(expected));

  test.each([
    ['it is so stuffy in the nursery', /^purifier /],
    ['the floor on the landing is full of crumbs', /^robot /],
    ['the baby is freezing in the nursery', /^trv /],
  ])('from how it is at home: %s', (text, expected) => expect(best(text)).toMatch(expected));

  test('by other names of devices and areas, and by floors', () => {
    expect(best('ghetto blaster volume to 20')).toBe('radio Set volume');
    expect(best('Licht in der Scheune an')).toBe('barn-light Turn on');
    const match = search.search({ text: 'outside light on' }, tools).matches[0];
    expect(match?.tool.definition.metadata.device).toBe('barn-light');
    expect(match?.reasons).toContain('floor: outside');
  });
});

describe('what almost fits', () => {
  test('is told with what is missing', () => {
    const { matches, nearMisses } = search.search({ text: 'dim the flurlicht', limit: 1 }, tools);
    expect(matches[0]?.tool.definition.metadata.device).toBe('hall');
    const reasons = [...matches, ...nearMisses].flatMap((match) => match.reasons);
    expect(reasons.some((reason) => reason.startsWith('missing: '))).toBe(true);
    expect(nearMisses.length).toBeGreaterThan(0);
    for (const near of nearMisses) expect(near.reasons.join()).toContain('missing: ');
  });

  test('a word that nothing has finds nothing', () => {
    expect(search.search({ text: 'xylophone' }, tools)).toMatchObject({ matches: [], nearMisses: [], isUnsure: true });
    expect(search.search({ text: '' }, tools).matches).toEqual([]);
    expect(search.search({ text: '?!… 🙂' }, tools).matches).toEqual([]);
  });
});

describe('a text that was made to be slow', () => {
  test.each([
    ['digits', '1'],
    ['numbers', '1 '],
    ['targets', 'to '],
    ['spaces after a number', '1          '],
    ['letters', 'a'],
    ['requests', 'make it '],
  ])('of %s is read in no time, however long', async (_name, piece) => {
    const text = piece.repeat(64_000 / piece.length);
    expect(await processorMs(() => search.search({ text }, tools))).toBeLessThan(500);
  });
});
