import { expect, test } from 'vitest';
import { errorOf } from '../../../src/cli/hub/hub-client.ts';
import { nextStep } from '../../../src/cli/terminal/output.ts';
import { ERROR_CODES } from '../../../src/core/errors.ts';

test.each(['constructor', 'toString', '__proto__', 'NO_SUCH_CODE'])(
  'an error of the code %s ends the command as one of the hub',
  (code) => {
    const error = errorOf({ error: { code, message: 'no' } }, 500);
    expect(error.code).toBe('INTERNAL_ERROR');
    expect(ERROR_CODES[error.code].exitCode).toBeGreaterThan(0);
  },
);

test.each([
  [{ trace_id: 'b7d2a9f0-1c3e' }, 'journalctl -u atmosphere-edge | grep b7d2a9f0-1c3e'],
  [{ instance: 'urn:request:5f0c8d1e-77aa' }, 'journalctl -u atmosphere-edge | grep 5f0c8d1e-77aa'],
  [{ instance: 'urn:request:none' }, undefined],
  [{ trace_id: 'x; reboot' }, undefined],
  [{}, undefined],
])('a bug of the hub that is answered with %j is looked up by %s', (answer, command) => {
  const body = { ...answer, error: { code: 'INTERNAL_ERROR', message: 'The tool failed unexpectedly' } };
  expect(nextStep(errorOf(body, 500))).toBe(command);
});

test('a hub that names a log entry itself puts nothing into the command that looks for it', () => {
  const { details } = errorOf({ error: { code: 'INTERNAL_ERROR', message: 'no', details: { log_id: 'x; rm -rf ~' } } }, 500);
  expect(details).not.toHaveProperty('log_id');
});
