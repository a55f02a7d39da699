import { expect, test } from 'vitest';
import { capture } from '../../scripts/check/command.ts';

test('a check that ends gives its status and all that it printed', async () => {
  expect(await capture('sh', ['-c', 'echo out; echo error >&2; exit 3'])).toEqual({ status: 3, output: 'out\nerror\n' });
});

test('a check that hangs is killed, and its last line says when', async () => {
  const { status, output } = await capture('sh', ['-c', 'echo begun; exec sleep 60'], 300);
  expect({ status, output }).toEqual({ status: 1, output: expect.stringMatching(/^begun\n\nended by SIGKILL after \d s$/) });
});

test('a check whose program is not there fails with its name', async () => {
  expect(await capture('no-such-program', [])).toEqual({ status: 127, output: expect.stringContaining('no-such-program') });
});
