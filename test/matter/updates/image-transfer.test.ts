import type { ServerNode } from '@matter/main/node';
import { PeerAddress } from '@matter/main/protocol';
import { FabricIndex, NodeId } from '@matter/main/types';
import { expect, test } from 'vitest';
import { openTransfer } from '../../../src/matter/updates/ota-provider.ts';
import type { RunningUpdate } from '../../../src/matter/updates/update-progress.ts';

const peer = PeerAddress({ fabricIndex: FabricIndex(1), nodeId: NodeId(7n) });
const course = { image: { blob: new Blob(['image']) } } as unknown as RunningUpdate;

/** A node whose transfer fails as it is ended. */
function nodeWithFailingTransfer(scopes: Set<unknown>): ServerNode {
  let isClosed = false;
  const bdx = {
    sessionStarted: { on() {}, off() {} },
    enablePeerForScope: (of: unknown) => scopes.add(of),
    sessionFor: () => undefined,
    async disablePeerForScope(of: unknown) {
      if (!isClosed) {
        isClosed = true;
        throw new Error('The update was ended');
      }
      scopes.delete(of);
    },
  };
  return { env: { get: () => bdx } } as unknown as ServerNode;
}

test('a transfer that fails while it is closed throws no error, and its scope is closed', async () => {
  const scopes = new Set<unknown>();
  const transfer = openTransfer(nodeWithFailingTransfer(scopes), peer, course);
  expect(scopes.size).toBe(1);
  await expect(transfer[Symbol.asyncDispose]()).resolves.toBeUndefined();
  expect(scopes.size).toBe(0);
});
