import { expect, test } from 'vitest';
import { type RegisteredTool, unconfigured } from '../../../src/tools/definition/tool-definition.ts';
import { LexicalToolSearch } from '../../../src/tools/search/tool-search.ts';
import { makeTool } from '../../calls/pipeline-fixture.ts';

const absent = (name: string, title: string) =>
  unconfigured(makeTool({ name, description: title, metadata: { title } }), `set connectors.${name}`);
const present = (name: string, title: string) => makeTool({ name, description: title, metadata: { title } });
const namesOf = (found: readonly { readonly tool: RegisteredTool }[]) => found.map(({ tool }) => tool.definition.name);

test('what is not configured takes no place of what works, and is told only where it would fit better', () => {
  const tools = [absent('sms', 'Send a message to a phone'), absent('fax', 'Send a fax'), present('notify', 'Send a message to a person')];
  const search = new LexicalToolSearch();
  const phone = search.search({ text: 'send a message to my phone', limit: 1 }, tools);
  expect(namesOf(phone.matches)).toEqual(['notify']);
  expect(namesOf(phone.nearMisses)[0]).toBe('sms');
  expect(phone.nearMisses[0]?.reasons.at(-1)).toBe('not configured: set connectors.sms');
  expect(namesOf(search.search({ text: 'message to a person' }, tools).nearMisses)).not.toContain('sms');
});

test('nothing else is found instead where it alone fits', () => {
  const tools = [
    absent('weather', 'Weather forecast of tomorrow'),
    present('clock', 'Show the time of tomorrow'),
    present('lamp', 'Turn on the lamp'),
  ];
  const { matches, nearMisses } = new LexicalToolSearch().search({ text: 'weather forecast' }, tools);
  expect(matches).toEqual([]);
  expect(namesOf(nearMisses)).toEqual(['weather']);
});

test('whoever searches can know better what is ready', () => {
  const tools = [absent('sms', 'Send a message')];
  expect(namesOf(new LexicalToolSearch().search({ text: 'send a message', isReady: () => true }, tools).matches)).toEqual(['sms']);
});
