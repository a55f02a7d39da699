import { expect, test } from 'vitest';
import type { Invocation } from '../../src/cli/command.ts';
import { followJob } from '../../src/cli/tool-command.ts';

function following(job: object) {
  const output = { during: (_what: string, run: (steps: object) => unknown) => run({ step: () => undefined }) };
  return followJob({ hub: { get: async () => job }, output, io: {} } as unknown as Invocation, 'j1', 'Waiting');
}

test.each(['constructor', 'toString', '__proto__', 'NO_SUCH_CODE'])(
  'a job that failed with the code %s was cancelled, for all one knows',
  (code) =>
    expect(following({ status: 'failed', error: { code, message: 'no' } })).rejects.toMatchObject({ code: 'CANCELLED', message: 'no' }),
);

test('the error of a job is the one of the command', () =>
  expect(following({ status: 'failed', error: { code: 'DEVICE_UNREACHABLE', message: 'no' } })).rejects.toMatchObject({
    code: 'DEVICE_UNREACHABLE',
  }));
