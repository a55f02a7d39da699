import { describe, expect, test } from 'vitest';
import { LexicalToolSearch } from '../../../src/tools/search/tool-search.ts';
import { makeTool } from '../../calls/pipeline-fixture.ts';

const tools = [
  makeTool({
    name: 'kitchen_light_on',
    namespace: 'matter',
    description: 'Turn on the kitchen light',
    metadata: { device: 'kitchen-light', area: 'kitchen' },
  }),
  makeTool({
    name: 'hall_light_on',
    namespace: 'matter',
    description: 'Turn on the hall light',
    metadata: { device: 'hall-light', area: 'hall' },
  }),
  makeTool({ name: 'notify', description: 'Send notification to a person', metadata: { tags: ['alert', 'messaging'] } }),
  makeTool({ name: 'read_temperature', description: 'Tells the temperature in a room' }),
];
const search = new LexicalToolSearch();
const found = (text: string) => search.search({ text }, tools).matches.map(({ tool }) => tool.definition.name);

describe('search', () => {
  test('finds tools from a sentence, best first', () => {
    expect(found('please switch on the lamps in the kitchen')[0]).toBe('kitchen_light_on');
    expect(found('send an alert to the user')[0]).toBe('notify');
    expect(found('how warm is it?')).toEqual(['read_temperature']);
    expect(found('xyzzy')).toEqual([]);
  });

  test('says why', () => {
    const [match] = search.search({ text: 'kitchen lamp' }, tools).matches;
    expect(match?.reasons).toEqual(['area: kitchen', 'device: lamp (light)']);
    expect(match?.score).toBeGreaterThan(0);
  });

  test('is the same whatever the order of the tools, and bounded', () => {
    const ids = (list: typeof tools) => search.search({ text: 'light on', limit: 2 }, list).matches.map(({ tool }) => tool.id);
    expect(ids(tools)).toEqual(ids(tools.toReversed()));
    expect(ids(tools)).toHaveLength(2);
    const twins = ['b', 'a', 'd', 'c'].map((name) => makeTool({ name, namespace: 'x', description: 'Rings the gong' }));
    const rung = (list: typeof tools) => search.search({ text: 'ring the gong', limit: 3 }, list).matches.map(({ tool }) => tool.id);
    expect(rung(twins)).toEqual(['x:a@1.0.0', 'x:b@1.0.0', 'x:c@1.0.0']);
    expect(rung(twins.toReversed())).toEqual(rung(twins));
  });

  test('what is in another room or has little of the wish is no match, but nearly one', () => {
    const crowd = [...tools, makeTool({ name: 'page', description: 'Sends a text to a person in the kitchen' })];
    const { matches, nearMisses } = search.search({ text: 'turn on the kitchen light' }, crowd);
    expect(matches.map(({ tool }) => tool.definition.name)).toEqual(['kitchen_light_on']);
    expect(nearMisses.map(({ tool }) => tool.definition.name)).toEqual(['page']);
  });

  test('who meets all of a wish in passing comes before who is called like a part of it', () => {
    const some = [
      makeTool({ name: 'a_lamp', description: 'speed gong' }),
      makeTool({ name: 'b_lamp', description: 'gong color' }),
      makeTool({ name: 'c_color', description: 'lamp speed' }),
    ];
    expect(search.search({ text: 'gong color' }, some).matches[0]?.tool.definition.name).toBe('b_lamp');
  });
});
