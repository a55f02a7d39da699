import { expect, test } from 'vitest';
import { errorOf } from '../../../src/cli/hub/hub-client.ts';
import { ERROR_CODES } from '../../../src/core/errors.ts';

test.each(['constructor', 'toString', '__proto__', 'NO_SUCH_CODE'])(
  'an error of the code %s ends the command as one of the hub',
  (code) => {
    const error = errorOf({ error: { code, message: 'no' } }, 500);
    expect(error.code).toBe('INTERNAL_ERROR');
    expect(ERROR_CODES[error.code].exitCode).toBeGreaterThan(0);
  },
);
