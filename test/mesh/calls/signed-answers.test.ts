import { describe, expect, test } from 'vitest';
import type { HubId } from '../../../src/core/ids.ts';
import { errorOfBody } from '../../../src/mesh/calls/signed-answers.ts';
import { errorOfFrame } from '../../../src/mesh/link/error-frame.ts';

const executor = 'hub-0123456789abcdef' as HubId;
const body = { code: 'APPROVAL_REQUIRED', message: 'Ask a person', details: { approval_id: 'a1' }, retryable: false } as const;

describe('an error of another hub', () => {
  test('is told as it is', () => {
    expect(errorOfBody(body, executor)).toMatchObject({
      code: 'APPROVAL_REQUIRED',
      message: 'Ask a person',
      details: { approval_id: 'a1' },
    });
  });

  test('steers no terminal, and is no longer than anybody reads', () => {
    const message = `\u001b[2J\u202e${'x'.repeat(100_000)}`;
    const frame = { type: 'error', id: 1, code: 'TIMEOUT', message, details: '{}' } as const;
    for (const error of [errorOfBody({ ...body, message }, executor), errorOfFrame(frame)]) {
      expect(error.message).toMatch(/^ \[2J x+$/);
      expect(error.message).toHaveLength(2_048);
    }
    expect(errorOfBody({ ...body, details: { text: 'x'.repeat(100_000) } }, executor).details).toEqual({});
  });

  test('sends nobody to a third hub to approve what waits there', () => {
    const details = { approval_id: 'a1', node_id: 'hub-fedcba9876543210' };
    expect(errorOfBody({ ...body, details }, executor).details).toEqual({ approval_id: 'a1', node_id: executor });
  });
});
