import '../../../src/matter/matter-platform.ts';
import { Status, StatusResponseError } from '@matter/main/types';
import { describe, expect, test } from 'vitest';
import { AtmoError } from '../../../src/core/errors.ts';
import { type InteractionFailure, interactionError } from '../../../src/matter/devices/device-interactions.ts';

const failure: InteractionFailure = { what: 'OnOff.Toggle on lamp', isSent: true, isRead: false, isCancelled: false, waitedMs: 13_740 };
const lost = new TypeError('no answer');

describe('the error of a failed interaction', () => {
  test.each([
    ['a command that was sent and not acknowledged', {}, 'OUTCOME_UNKNOWN'],
    ['a command of which nothing went out', { isSent: false }, 'DEVICE_UNREACHABLE'],
    ['a read, which changes nothing', { isRead: true }, 'DEVICE_UNREACHABLE'],
    ['a call that its caller gave up', { isCancelled: true }, 'CANCELLED'],
  ])('%s', (_, change, code) => {
    expect(interactionError(lost, { ...failure, ...change })).toMatchObject({
      code,
      message: expect.stringContaining('OnOff.Toggle on lamp'),
    });
    if (code !== 'CANCELLED') expect(interactionError(lost, { ...failure, ...change }).message).toContain('within 13.7 s');
  });

  test('has the status of the device with number and name', () => {
    const error = interactionError(StatusResponseError.create(Status.ConstraintError, undefined, 5), failure);
    expect(error).toMatchObject({ code: 'CLUSTER_STATUS', details: { status: 135, clusterStatus: 5, name: 'ConstraintError' } });
  });

  test('is unchanged for an error of the hub', () => {
    const own = new AtmoError('NOT_SUPPORTED', 'x');
    expect(interactionError(own, failure)).toBe(own);
  });
});
