/** The mesh, as `GET /api/v1/mesh` answers it. */
export interface MeshStatus {
  readonly state: 'none' | 'member' | 'expired' | 'revoked';
  readonly hub_id: string;
  readonly hub_name?: string;
  readonly name?: string;
  readonly roles?: readonly string[];
  readonly expires_at?: string;
  readonly has_root_key: boolean;
  readonly open_invites: number;
  readonly peers: readonly MeshPeer[];
}

/** Another hub of it. */
export interface MeshPeer {
  readonly id: string;
  readonly name: string;
  readonly state: 'fresh' | 'stale' | 'gone' | 'left';
  readonly reachable: boolean;
  readonly hops: number;
  readonly round_trip_ms?: number;
  readonly address?: string;
  readonly version: string;
  readonly last_seen: string;
  readonly tools: number;
  readonly devices: number;
}

/** The link to another hub in words. */
export function linkWords({ reachable, hops, round_trip_ms: roundTripMs, state }: MeshPeer): string {
  if (!reachable) return state === 'left' ? 'has left' : 'not reachable';
  if (roundTripMs !== undefined) return `${roundTripMs} ms`;
  return hops > 1 ? `over ${hops - 1} other ${hops === 2 ? 'hub' : 'hubs'}` : 'reachable';
}
