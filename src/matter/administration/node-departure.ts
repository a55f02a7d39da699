import { causedBy } from '@matter/main';
import type { ClientNode } from '@matter/main/node';
import { FabricRemovedError, PeerInitiatedCloseError, PeerLeftError, PeerMessageMissingError } from '@matter/main/protocol';
import { AtmoError } from '../../core/errors.ts';
import { removeFabric } from './fabric-list.ts';
import type { NodeClusters } from './node-clusters.ts';

/** A node that is to leave our fabric. */
export interface LeavingNode {
  readonly clusters: NodeClusters;
  readonly peer: Pick<ClientNode, 'delete'>;
}

/**
 * Ends a node's membership of our fabric and forgets the node. `isForced` also forgets one that does not answer; that
 * one still believes to belong here and needs a factory reset. Otherwise DEVICE_UNREACHABLE or OUTCOME_UNKNOWN.
 */
export async function decommissionNode({ clusters, peer }: LeavingNode, isForced: boolean): Promise<void> {
  try {
    await leave(clusters);
  } catch (error) {
    if (!isSilence(error)) throw error;
    if (!isForced) throw new AtmoError(error.code, `${error.message}. To forget the device all the same, remove it by force and reset it`);
  }
  await peer.delete();
}

async function leave(clusters: NodeClusters): Promise<void> {
  const fabricIndex = Number(await clusters.read('OperationalCredentials', 'CurrentFabricIndex'));
  try {
    await removeFabric(clusters, fabricIndex);
  } catch (error) {
    if (!isGoodbye(error)) throw error;
  }
}

/** With the fabric goes the session on which the answer would come, so that a closed session is an answer too. */
function isGoodbye(error: unknown): boolean {
  const cause = error instanceof AtmoError ? error.cause : undefined;
  return cause instanceof Error && causedBy(cause, PeerMessageMissingError, PeerLeftError, FabricRemovedError, PeerInitiatedCloseError);
}

function isSilence(error: unknown): error is AtmoError {
  return error instanceof AtmoError && (error.code === 'DEVICE_UNREACHABLE' || error.code === 'OUTCOME_UNKNOWN');
}
