import { html, svg, type TemplateResult } from 'lit';
import { layOutMesh, type Point } from './mesh-layout.ts';
import { linkWords, type MeshPeer, type MeshStatus } from './mesh-view.ts';

const RADIUS = 26;
const LONGEST_NAME = 18;

/** The hubs and what connects them; the same stands as text in the list below it. */
export function meshMap(status: MeshStatus): TemplateResult {
  const { width, height, centre, places } = layOutMesh(status.peers);
  const placed = status.peers.flatMap((peer) => {
    const at = places.get(peer.id);
    return at === undefined ? [] : [{ peer, at }];
  });
  return html`<svg class="mesh-map" width=${width} height=${height} viewBox="0 0 ${width} ${height}" role="img" aria-label=${summary(status)}>
    ${placed.map(({ peer, at }) => link(centre, at, peer))}
    ${placed.map(({ peer, at }) => hub(at, peer.name, peer.reachable ? 'reachable' : 'away'))}
    ${hub(centre, status.hub_name ?? 'this hub', 'own')}
  </svg>`;
}

function summary({ peers }: MeshStatus): string {
  const reachable = peers.filter((peer) => peer.reachable).length;
  return `This hub and ${peers.length} others, of which ${reachable} can be reached`;
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
