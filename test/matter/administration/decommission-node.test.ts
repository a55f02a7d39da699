import { PeerInitiatedCloseError } from '@matter/main/protocol';
import { beforeEach, describe, expect, test } from 'vitest';
import { AtmoError } from '../../../src/core/errors.ts';
import { decommissionNode } from '../../../src/matter/administration/fabrics.ts';
import { FakeNode } from './fake-node.ts';

const REMOVE_FABRIC = '0/OperationalCredentials/RemoveFabric';

describe('the removal of a node from the fabric', () => {
  let node: FakeNode;
  let deleted: number;
  const forget = async (): Promise<void> => {
    deleted += 1;
  };
  const leave = (isForced: boolean) => decommissionNode({ clusters: node.clusters, peer: { delete: forget } }, isForced);

  beforeEach(() => {
    node = new FakeNode();
    deleted = 0;
    node.attributes.set('0/OperationalCredentials/CurrentFabricIndex', 3);
  });

  test('removes our fabric from the node, then the node from the hub', async () => {
    const asked: unknown[] = [];
    node.commands.set(REMOVE_FABRIC, (fields) => {
      asked.push(fields);
      return { statusCode: 'Ok' };
    });
    await leave(false);
    expect(asked).toEqual([{ fabricIndex: 3 }]);
    expect(deleted).toBe(1);
  });

  test('succeeds when the node closes the session instead of answering', async () => {
    node.commands.set(REMOVE_FABRIC, () => {
      throw new AtmoError('OUTCOME_UNKNOWN', 'sent', {}, { cause: new PeerInitiatedCloseError() });
    });
    await leave(false);
    expect(deleted).toBe(1);
  });

  test('fails when the node does not answer, unless it is forced', async () => {
    node.commands.set(REMOVE_FABRIC, () => {
      throw new AtmoError('DEVICE_UNREACHABLE', 'no answer');
    });
    await expect(leave(false)).rejects.toMatchObject({ code: 'DEVICE_UNREACHABLE', message: expect.stringContaining('--force of atmo') });
    expect(deleted).toBe(0);
    await leave(true);
    expect(deleted).toBe(1);
  });

  test('fails when the node refuses, also by force, and when the caller cancels', async () => {
    node.commands.set(REMOVE_FABRIC, () => ({ statusCode: 'InvalidFabricIndex' }));
    await expect(leave(true)).rejects.toMatchObject({ code: 'CLUSTER_STATUS' });
    node.commands.set(REMOVE_FABRIC, () => {
      throw new AtmoError('CANCELLED', 'given up');
    });
    await expect(leave(true)).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(deleted).toBe(0);
  });
});
