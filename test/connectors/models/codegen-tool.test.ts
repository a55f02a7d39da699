import { expect, test } from 'vitest';
import { codeOf } from '../../../src/connectors/models/llm-tools.ts';

test('the code is the content of the block, with its language', () => {
  expect(codeOf('Here:\n```Python\nprint(1)\n\nprint(2)\n```\nDone.')).toEqual({ code: 'print(1)\n\nprint(2)', language: 'python' });
  expect(codeOf('```\nls\n```')).toEqual({ code: 'ls' });
});

test('an answer without a block is code as a whole', () => {
  expect(codeOf(' print(1) \n')).toEqual({ code: 'print(1)' });
});
