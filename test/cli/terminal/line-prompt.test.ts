import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { promptLine } from '../../../src/cli/terminal/line-prompt.ts';

function terminal() {
  const input = Object.assign(new PassThrough(), { isTTY: true });
  const output = new PassThrough();
  const asked = promptLine('Next? ', { input, output });
  return { asked, input, shown: () => String(output.read() ?? '') };
}

test('a line that is typed is shown and returned', async () => {
  const { asked, input, shown } = terminal();
  input.write('s\r');
  expect(await asked).toEqual({ line: 's' });
  const text = shown();
  expect(text).toContain('Next? ');
  expect(text.slice(text.indexOf('Next? ') + 6)).toContain('s');
});

test.each([
  ['Ctrl-D', (input: PassThrough) => input.write('\u0004')],
  ['a closed terminal', (input: PassThrough) => input.end()],
])('%s is the end of the input, not an answer', async (_, end) => {
  const { asked, input } = terminal();
  end(input);
  expect(await asked).toBe('end_of_input');
});

test('Ctrl-C cancels', async () => {
  const { asked, input } = terminal();
  input.write('\u0003');
  await expect(asked).rejects.toMatchObject({ code: 'CANCELLED' });
});

test('nobody is asked where there is no terminal', async () => {
  const output = new PassThrough();
  expect(await promptLine('Next? ', { input: new PassThrough(), output })).toBeUndefined();
  expect(output.read()).toBeNull();
});
