import { describe, expect, test } from 'vitest';
import { HUB_PROGRAM } from '../../../src/cli/command-table.ts';
import { Output } from '../../../src/cli/terminal/output.ts';
import { AtmoError } from '../../../src/core/errors.ts';

const HOSTILE = 'door\u001b]0;owned\u0007 \u009b2J \u202etxt.exe\u202c \u{e0041}\u200b\u3164';

function printed(isJson: boolean, print: (output: Output) => void): string {
  let text = '';
  const sink = { write: (part: string) => (text += part) };
  print(new Output({ stdout: sink, stderr: sink }, { isJson, advice: HUB_PROGRAM.advice }));
  return text;
}

describe('texts of a device or a hub cannot control the terminal', () => {
  test.each([true, false])('in answers, lines, notes and errors (json: %s)', (isJson) => {
    const text = printed(isJson, (output) => {
      output.answer({ name: HOSTILE }, () => HOSTILE);
      output.line({ name: HOSTILE }, HOSTILE);
      output.note(HOSTILE);
      output.fail(new AtmoError('CLUSTER_STATUS', HOSTILE));
    });
    expect(text).not.toMatch(/(?!\n)\p{C}|\p{Default_Ignorable_Code_Point}/u);
    expect(text).toContain('\\u009b2J');
  });

  test('JSON has the same meaning, and other text is unchanged', () => {
    const text = printed(true, (output) => output.answer({ name: HOSTILE, other: 'Küche 👩‍🍳\t1' }, () => ''));
    expect(JSON.parse(text)).toEqual({ name: HOSTILE, other: 'Küche 👩‍🍳\t1' });
    expect(printed(false, (output) => output.note('Küche 👩‍🍳\t1'))).toBe('Küche 👩‍🍳\t1\n');
  });
});
