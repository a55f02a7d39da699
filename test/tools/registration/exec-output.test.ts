import { expect, test } from 'vitest';
import { outputOf } from '../../../src/tools/registration/exec-output.ts';
import { processorMs } from '../../processor-time.ts';

test.each([
  ['{"a":1}', { a: 1 }],
  ['starting\n{"a":1}\n{"a":2}\ndone\n', { a: 2 }],
  ['[1]\n{broken', [1]],
  ['7', 7],
  ['just words\n', { output: 'just words' }],
])('what a program prints, %j, is %j', (printed, answer) => {
  expect(outputOf(printed)).toEqual(answer);
});

test('half a million lines that only begin like JSON are text, and told so soon', async () => {
  const workMs = await processorMs(() => {
    expect(outputOf('{\n'.repeat(500_000))).toMatchObject({ output: expect.stringMatching(/^\{\n\{/) });
  });
  expect(workMs).toBeLessThan(3_000);
});
