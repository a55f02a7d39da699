import { describe, expect, test } from 'vitest';
import { MAX_FILTER_BYTES } from '../../../src/codec/messages/site.ts';
import type { HubId } from '../../../src/core/ids.ts';
import { makeFilter, mayHave, wordOfName, wordsOf, wordsOfSentence } from '../../../src/mesh/sites/site-words.ts';

const HUB = {
  id: 'hub-00112233aabbccdd' as HubId,
  name: 'Kitchen Hub',
  capabilities: [{ type: 'light_control', description: 'Lights of the secret room' }],
  tools: [{ id: 'matter:hall_lamp_turn_on@1.0.0', hash: '0102030405060708' }],
  devices: [{ id: 'hall-lamp', name: 'Stehlampe Küche', type: 'dimmable_light', isReachable: true }],
};

describe('the words of a hub', () => {
  test('are its id and name, and the names of capabilities, tools and devices that it announces', () => {
    const words = wordsOf(HUB);
    for (const word of ['hub-00112233aabbccdd', 'kitchen hub', 'kitchen', 'light_control', 'hall_lamp_turn_on', 'hall-lamp', 'küche']) {
      expect(words).toContain(word);
    }
    expect(words).not.toContain('secret');
    expect(words).not.toContain('');
  });

  test('are found by every form of the name of a tool', () => {
    const names = ['hall_lamp_turn_on', 'matter:hall_lamp_turn_on', 'matter:hall_lamp_turn_on@1.0.0', 'HALL_LAMP_TURN_ON'];
    for (const name of names) expect(wordsOf(HUB)).toContain(wordOfName(name));
  });

  test('of a sentence are those of three letters and more, each once', () => {
    expect(wordsOfSentence('Turn on the lamp, the LAMP of Küche!')).toEqual(['turn', 'the', 'lamp', 'küche']);
    expect(wordsOfSentence(Array.from({ length: 40 }, (_, index) => `word${index}`).join(' '))).toHaveLength(16);
  });
});

describe('a filter', () => {
  const words = (count: number) => new Set(Array.from({ length: count }, (_, index) => `tool_${index}`));
  const inVain = (count: number) => {
    const filter = makeFilter('garage', words(count));
    return Array.from({ length: 2_000 }, (_, index) => mayHave('garage', `other_${index}`, filter)).filter(Boolean).length / 2_000;
  };

  test('has every word of the site, and the same bytes for the same words', () => {
    const filter = makeFilter('garage', words(900));
    for (const word of words(900)) expect(mayHave('garage', word, filter)).toBe(true);
    expect(makeFilter('garage', new Set([...words(900)].reverse()))).toEqual(filter);
    expect(filter.bits.length).toBe(1_125);
  });

  test('has one word in a hundred in vain, and no more bytes than fit into a summary', () => {
    expect(inVain(900)).toBeLessThan(0.02);
    expect(inVain(4_000)).toBeLessThan(0.2);
    expect(makeFilter('garage', words(4_000)).bits.length).toBe(MAX_FILTER_BYTES);
    expect(mayHave('garage', 'anything', makeFilter('garage', new Set()))).toBe(false);
  });
});
