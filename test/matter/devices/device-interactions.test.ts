import '../../../src/matter/matter-platform.ts';
import { ModeSelect, RvcRunMode } from '@matter/main/clusters';
import { Status, StatusResponseError, TlvInvokeResponse } from '@matter/main/types';
import { describe, expect, test } from 'vitest';
import { AtmoError } from '../../../src/core/errors.ts';
import {
  DeviceInteractions,
  type InteractionCall,
  type InteractionFailure,
  interactionError,
} from '../../../src/matter/devices/device-interactions.ts';
import { ManualClock } from '../../manual-clock.ts';

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

describe('a command', () => {
  const call = (initiateExchange: () => Promise<unknown>) =>
    ({
      ...{ node: {}, link: { peer: { hasSession: true, exchangeProvider: { initiateExchange } } } },
      ...{ isSleepy: false, what: 'ChangeToMode on robot', signal: new AbortController().signal },
    }) as unknown as InteractionCall;
  /** An exchange with a device that answers a command with this response. */
  const answering = (response: object) => async () => ({
    send: async () => {},
    close: async () => {},
    nextMessage: async () => ({
      ...{ packetHeader: { messageId: 1 }, payloadHeader: { messageType: 9 } },
      payload: TlvInvokeResponse.encode({ suppressResponse: false, invokeResponses: [response], interactionModelRevision: 11 } as never),
    }),
  });
  const interactions = new DeviceInteractions(new ManualClock());
  const invoke = (cluster: typeof RvcRunMode | typeof ModeSelect, initiateExchange: () => Promise<unknown>) =>
    interactions.invoke(call(initiateExchange), { endpoint: 1, cluster, command: 'changeToMode', fields: { newMode: 2 } });
  const bare = (clusterId: number) => ({ command: { commandPath: { endpointId: 1, clusterId, commandId: 1 } } });

  test('whose answer lacks the fields that say what came of it has an unknown outcome', async () => {
    const answered = invoke(RvcRunMode, answering(bare(RvcRunMode.id)));
    await expect(answered).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', message: expect.stringContaining('ChangeToMode on robot') });
  });

  test('whose answer has no fields by its definition succeeds without them', async () => {
    await expect(invoke(ModeSelect, answering(bare(ModeSelect.id)))).resolves.toBeUndefined();
  });

  test('for which no exchange could be opened was not sent', async () => {
    const refused = invoke(ModeSelect, () => Promise.reject(new TypeError('no session')));
    await expect(refused).rejects.toMatchObject({ code: 'DEVICE_UNREACHABLE' });
  });
});
