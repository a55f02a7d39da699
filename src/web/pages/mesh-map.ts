import { html, svg, type TemplateResult } from 'lit';
import { text } from '../texts/text.ts';

const RADIUS = 26;
const LONGEST_NAME = 18;

/** Returns a picture of the hubs and their links. The page also lists them in words below the picture. */
export function meshMap(status: MeshStatus): TemplateResult {
  const { width, height, centre, places } = layOutMesh(status.peers);
  const placed = status.peers.flatMap((peer) => {
    const at = places.get(peer.id);
    return at === undefined ? [] : [{ peer, at }];
  });
  return html`<svg class="mesh-map" width=${width} height=${height} viewBox="0 0 ${width} ${height}" role="img" aria-label=${summary(status)}>
    ${placed.map(({ peer, at }) => link(centre, at, peer))}
    ${placed.map(({ peer, at }) => hub(at, peer.name, peer.reachable ? 'reachable' : 'away'))}
    ${hub(centre, status.hub_name ?? text('mesh.this_hub'), 'own')}
  </svg>`;
}

function summary({ peers }: MeshStatus): string {
  const reachable = peers.filter((peer) => peer.reachable).length;
  return text('mesh.summary', { count: peers.length, reachable });
}

function link(from: Point, to: Point, peer: MeshPeer): TemplateResult {
  const tone = peer.reachable ? (peer.hops > 1 ? 'indirect' : 'direct') : 'broken';
  const middle = { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 };
  return svg`<g class="link ${tone}">
    <line x1=${from.x} y1=${from.y} x2=${to.x} y2=${to.y}></line>
    <text x=${middle.x} y=${middle.y - 6}>${linkWords(peer)}</text>
  </g>`;
}

function hub({ x, y }: Point, name: string, tone: 'own' | 'reachable' | 'away'): TemplateResult {
  const shown = name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name;
  return svg`<g class="hub ${tone}"><circle cx=${x} cy=${y} r=${RADIUS}></circle><text x=${x} y=${y + RADIUS + 18}>${shown}</text></g>`;
}

interface Point {
  readonly x: number;
  readonly y: number;
}

const RING_STEP = 130;
const MARGIN = 90;
/** Number of rings. Hubs that are more than three hops away are on the last ring too. */
const MAX_RING = 3;

/**
 * Returns the positions in the picture. This hub is in the middle. A hub that is two hops away is on the second ring, and so on. The hubs
 * of a ring are sorted by id, so that their positions do not depend on the order of `hubs`.
 */
export function layOutMesh(hubs: readonly Pick<MeshPeer, 'id' | 'hops'>[]) {
  const rings = Map.groupBy(hubs, ({ hops }) => Math.min(Math.max(1, hops), MAX_RING));
  const outermost = Math.max(0, ...rings.keys());
  const radius = outermost * RING_STEP;
  const centre = { x: radius + MARGIN, y: radius + MARGIN };
  const places = new Map<string, Point>();
  for (const [ring, members] of rings) {
    const sorted = members.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    for (const [index, { id }] of sorted.entries()) places.set(id, onRing(centre, ring, index / sorted.length));
  }
  return { width: 2 * centre.x, height: 2 * centre.y, centre, places };
}

/** Returns a point on a ring. `turn` is the clockwise angle from the top; 1 is a full turn. Each ring is rotated to keep links visible. */
function onRing({ x, y }: Point, ring: number, turn: number): Point {
  const angle = 2 * Math.PI * turn - Math.PI / 2 + (ring - 1) * 0.4;
  return { x: Math.round(x + Math.cos(angle) * ring * RING_STEP), y: Math.round(y + Math.sin(angle) * ring * RING_STEP) };
}

/** The mesh, as `GET /api/v1/mesh` returns it. */
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

/** Another hub of the mesh. */
export interface MeshPeer {
  readonly id: string;
  readonly name: string;
  readonly state: 'fresh' | 'stale' | 'gone' | 'left';
  readonly reachable: boolean;
  /** Number of hops from this hub; 1 means directly connected. */
  readonly hops: number;
  readonly round_trip_ms?: number;
  readonly address?: string;
  readonly version: string;
  readonly last_seen: string;
  readonly tools: number;
  readonly devices: number;
}

/** Returns a description of the link to another hub. */
export function linkWords({ reachable, hops, round_trip_ms: roundTripMs, state }: MeshPeer): string {
  if (!reachable) return state === 'left' ? text('mesh.left') : text('mesh.not_reachable');
  if (roundTripMs !== undefined) return `${roundTripMs} ms`;
  return hops > 1 ? text('mesh.over', { count: hops - 1 }) : text('mesh.reachable');
}
