import { expect, test } from 'vitest';
import { outputOf } from '../../../src/tools/registration/exec-output.ts';
import { processorMs } from '../../processor-time.ts';

test.each([
  ['{"a":1}', { a: 1 }],
  ['starting\n{"a":1}\n{"a":2}\ndone\n', { a: 2 }],
  ['[1]\n{broken', [1]],
  ['7', { output: '7' }],
  ['true\n', { output: 'true' }],
  ['just words\n', { output: 'just words' }],
])('what a program prints, %j, is %j', (printed, answer) => {
  expect(outputOf(printed)).toEqual(answer);
});

test.each([
  ['7\n', { type: 'string' }, '7'],
  ['words\n', { type: 'string' }, 'words'],
  ['{"a":1}\n', { type: 'string' }, '{"a":1}'],
  ['7\n', { type: 'integer' }, 7],
  ['true\n', { type: 'boolean' }, true],
  ['7\n', { type: 'object' }, { output: '7' }],
])('%j is what the schema %j says, whatever is printed', (printed, schema, answer) => {
  expect(outputOf(printed, schema)).toEqual(answer);
});

test('half a million lines that only begin like JSON are text, and told so soon', async () => {
  const workMs = await processorMs(() => {
    expect(outputOf('{\n'.repeat(500_000))).toMatchObject({ output: expect.stringMatching(/^\{\n\{/) });
  });
  expect(workMs).toBeLessThan(3_000);
});
