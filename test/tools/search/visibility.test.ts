import { describe, expect, test } from 'vitest';
import type { RegisteredTool } from '../../../src/tools/definition/tool-definition.ts';
import { LexicalToolSearch } from '../../../src/tools/search/tool-search.ts';
import { makeTool } from '../../calls/pipeline-fixture.ts';

const lampTool = (area: string, index: number): RegisteredTool =>
  makeTool({
    name: `${area}_lamp_${index}_on`,
    description: `Turns on a lamp in the ${area}`,
    metadata: { device: `${area}-${index}`, area },
  });
const own = [
  lampTool('den', 1),
  lampTool('den', 2),
  makeTool({ name: 'den_fan_on', description: 'Turns on the fan', metadata: { area: 'den' } }),
];
const hidden = Array.from({ length: 40 }, (_, index) => lampTool('vault', index));
const isOwn = (tool: RegisteredTool) => own.includes(tool);

describe('what somebody may not know of', () => {
  test('is not found, and changes no score, order, reason or near miss of the rest', () => {
    const alone = new LexicalToolSearch();
    const among = new LexicalToolSearch();
    for (const text of ['lamp in the den', 'vault lamp on', 'den', 'lmap on', 'vautl', 'turn on the fan']) {
      const expected = alone.search({ text }, own);
      expect(among.search({ text }, [...own, ...hidden], isOwn)).toEqual(expected);
    }
  });
});

test('words of hidden tools do not crowd out the one that was nearly written', () => {
  const lampion = makeTool({ name: 'lampion_on', description: 'Shines' });
  const others = Array.from({ length: 30 }, (_, index) =>
    makeTool({
      name: `x${index}`,
      description: `lampi${String.fromCharCode(97 + (index % 26))}${String.fromCharCode(97 + Math.floor(index / 26))}`,
    }),
  );
  const found = new LexicalToolSearch().search({ text: 'lampi' }, [lampion, ...others], (tool) => tool === lampion);
  expect(found).toEqual(new LexicalToolSearch().search({ text: 'lampi' }, [lampion]));
  expect(found.matches).toHaveLength(1);
});

describe('the index', () => {
  test('follows lists that change, and knows parts of them', () => {
    const search = new LexicalToolSearch();
    const idsOf = (text: string, tools: readonly RegisteredTool[]) => search.search({ text }, tools).matches.map(({ tool }) => tool.id);
    const all = [...own, ...hidden];
    expect(idsOf('vault', all)).toHaveLength(10);
    expect(idsOf('vault', own)).toEqual([]);
    expect(idsOf('fan', own.slice(0, 2))).toEqual([]);
    const added = makeTool({ name: 'observatory_dome', description: 'Moves the dome' });
    expect(idsOf('dome', [...all, added])).toEqual([added.id]);
    expect(idsOf('dome', all)).toEqual([]);
  });

  test('forgets what is long gone, and still finds what is there', () => {
    const search = new LexicalToolSearch();
    for (let round = 0; round < 12; round++) {
      const tools = Array.from({ length: 100 }, (_, index) => lampTool(`r${round}`, index));
      const found = search.search({ text: `r${round} lamp`, limit: 200 }, tools).matches;
      expect(new Set(found.map(({ tool }) => tool))).toEqual(new Set(tools));
    }
  });
});
