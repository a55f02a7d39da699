import type { HubId } from './ids.ts';

/** Another hub as the mesh room sees it. */
export interface Peer {
  readonly id: HubId;
  readonly name: string;
  readonly isReachable: boolean;
  readonly roundTripMs?: number;
  readonly hops: number;
  readonly capabilities: readonly string[];
}

/** Port: the other hubs. Absent until the hub is a member of a mesh. */
export interface MeshView {
  peers(): readonly Peer[];
}
