import { expect, test } from 'vitest';
import { parseProgramOutput } from '../../../src/tools/programs/program-tool.ts';
import { processorMs } from '../../processor-time.ts';

test.each([
  ['{"a":1}', { a: 1 }],
  ['starting\n{"a":1}\n{"a":2}\ndone\n', { a: 2 }],
  ['[1]\n{broken', [1]],
  ['7', { output: '7' }],
  ['true\n', { output: 'true' }],
  ['just words\n', { output: 'just words' }],
])('what a program prints, %j, is %j', (printed, answer) => {
  expect(parseProgramOutput(printed)).toEqual(answer);
});

test.each([
  ['7\n', { type: 'string' }, '7'],
  ['words\n', { type: 'string' }, 'words'],
  ['{"a":1}\n', { type: 'string' }, '{"a":1}'],
  ['7\n', { type: 'integer' }, 7],
  ['true\n', { type: 'boolean' }, true],
  ['7\n', { type: 'object' }, { output: '7' }],
])('%j is what the schema %j says, whatever is printed', (printed, schema, answer) => {
  expect(parseProgramOutput(printed, schema)).toEqual(answer);
});

test('half a million lines that only begin like JSON are text, and told so soon', async () => {
  const workMs = await processorMs(() => {
    expect(parseProgramOutput('{\n'.repeat(500_000))).toMatchObject({ output: expect.stringMatching(/^\{\n\{/) });
  });
  expect(workMs).toBeLessThan(3_000);
});
