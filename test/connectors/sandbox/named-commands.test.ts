import { expect, test } from 'vitest';
import { matchTemplate } from '../../../src/connectors/sandbox/named-commands.ts';
import { processorMs } from '../../processor-time.ts';

const text = { type: 'string' };
const match = (argv: readonly string[], given: readonly string[]) => {
  const names = argv.flatMap((arg) => [...arg.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name));
  return matchTemplate({ argv, parameters: Object.fromEntries(names.map((name) => [name, text])) }, given);
};

test.each([
  [['cp', '{from}:{to}.txt'], ['cp', 'a:b:c.txt'], { from: 'a:b', to: 'c' }],
  [['cp', '--at={a}{b}'], ['cp', '--at=xy'], { a: 'xy', b: '' }],
  [['cp', '{a}x{b}x'], ['cp', 'xx'], { a: '', b: '' }],
  [['cp', '{a}x{b}x'], ['cp', 'x'], undefined],
  [['cp', 'x{a}x'], ['cp', 'x'], undefined],
  [['cp', '{a}:{a}'], ['cp', 'b:c'], undefined],
  [['cp', '-v', '{a}', 'to', '{b}'], ['cp', '-v', 'to', 'y'], { b: 'y' }],
  [['cp', '-v'], ['cp', '-vv'], undefined],
])('%j takes %j for %j', (argv, given, params) => {
  expect(match(argv, given)).toEqual(params);
});

test('a line that matches nothing is refused quickly, however often it nearly matches', async () => {
  const many = Array.from({ length: 40 }, (_, index) => `{p${index}}`);
  const workMs = await processorMs(() => {
    expect(match(['cp', '{a}:{b}:{c}x'], ['cp', ':'.repeat(4_000)])).toBeUndefined();
    expect(match(['cp', ...many], ['cp', ...many, 'more'])).toBeUndefined();
  });
  expect(workMs).toBeLessThan(500);
});
