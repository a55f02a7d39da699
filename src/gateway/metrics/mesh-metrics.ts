import type { MeshView } from '../../core/mesh/mesh-view.ts';
import type { MetricRegistry } from './metrics.ts';

interface MeshFigures {
  readonly view: MeshView;
  /** What was dropped or refused since the start, by reason. */
  readonly drops: () => Readonly<Record<string, number>>;
}

/** Registers the figures of the other hubs, and of what they sent that was not taken. */
export function watchMesh(metrics: MetricRegistry, { view, drops }: MeshFigures): void {
  metrics.gauge('atmo_mesh_member', 'Whether this hub is in a mesh', () => (view.meshId === undefined ? 0 : 1));
  metrics.gauge('atmo_mesh_peers', 'Other hubs of the mesh by state of their news', () =>
    [...Map.groupBy(view.peers(), ({ state }) => state)].map(([state, peers]) => [{ state }, peers.length] as const),
  );
  metrics.gauge('atmo_mesh_peers_reachable', 'Other hubs that a call can be sent to', () =>
    view.peers().reduce((count, { isReachable }) => count + (isReachable ? 1 : 0), 0),
  );
  metrics.gauge('atmo_mesh_round_trip_seconds', 'Smoothed round trip to directly connected hubs', () =>
    view.peers().flatMap(({ id, roundTripMs }) => (roundTripMs === undefined ? [] : [[{ peer: id }, roundTripMs / 1000] as const])),
  );
  metrics.gauge('atmo_mesh_tools', 'Tools that other hubs announce', () =>
    view.peers().map(({ id, toolCount }) => [{ peer: id }, toolCount] as const),
  );
  metrics.observedCounter('atmo_mesh_dropped_total', 'Messages, frames and connections of the mesh that were not taken, by reason', () =>
    Object.entries(drops()).map(([reason, count]) => [{ reason }, count] as const),
  );
}
