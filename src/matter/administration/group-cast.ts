import type { ValueModel } from '@matter/main/model';
import type { ActionContext, Peers } from '@matter/main/node';
import { type Fabric, Invoke, PeerAddress } from '@matter/main/protocol';
import { ClusterId, CommandId, GroupId, NodeId, TlvOfModel } from '@matter/main/types';
import { EPOCH_START_MICROSECONDS, GROUP_KEY_SET } from './group-membership.ts';

/** A command with its fields in matter.js's own values. */
export interface GroupCommand {
  readonly clusterId: number;
  readonly commandId: number;
  readonly schema: ValueModel;
  readonly fields: unknown;
}

/** Sends commands to groups by multicast (Core §2.5.4, §8.8); nobody acknowledges them. */
export class GroupCast {
  readonly #fabric: Fabric;
  readonly #peers: Peers;

  constructor(fabric: Fabric, peers: Peers) {
    this.#fabric = fabric;
    this.#peers = peers;
  }

  /** Gives this hub the key of its groups. matter.js keeps it in memory only, so it is done at every start. */
  async useKey(epochKey: Uint8Array, groupIds: readonly number[]): Promise<void> {
    await this.#fabric.groups.setFromGroupKeySet({
      groupKeySetId: GROUP_KEY_SET,
      groupKeySecurityPolicy: 0,
      epochKey0: epochKey,
      epochStartTime0: BigInt(EPOCH_START_MICROSECONDS),
      epochKey1: null,
      epochStartTime1: null,
      epochKey2: null,
      epochStartTime2: null,
    });
    for (const id of groupIds) this.#fabric.groups.groupKeyIdMap.set(GroupId(id), GROUP_KEY_SET);
  }

  async invoke(groupId: number, command: GroupCommand, signal: AbortSignal): Promise<void> {
    const address = PeerAddress({ fabricIndex: this.#fabric.fabricIndex, nodeId: NodeId.fromGroupId(GroupId(groupId)) });
    const group = await this.#peers.forAddress(address);
    await group.start();
    const { clusterId, commandId, schema, fields } = command;
    // The definition by ids takes any cluster's model, as a group has no endpoint whose behaviours could be asked.
    const commands = [
      {
        cluster: { id: ClusterId(clusterId) },
        command: { requestId: CommandId(commandId), requestSchema: TlvOfModel(schema), timed: false },
        fields,
      },
    ];
    const request = Invoke({ commands, suppressResponse: true } as unknown as Invoke.Definition);
    for await (const _ of group.interaction.invoke(request, { abort: signal } as ActionContext));
  }
}
