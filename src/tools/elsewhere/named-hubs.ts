import { AtmoError } from '../../core/errors.ts';
import type { RoutePeer } from '../../core/mesh/mesh-view.ts';

type NamedHub = Pick<RoutePeer, 'id' | 'name' | 'isReachable'>;

interface NamedHubsCollaborators {
  /** This hub. */
  readonly self: { readonly id: string; readonly name: string };
  readonly mesh: { peers(): readonly NamedHub[] };
}

/** The hubs that people name, by id or by a name that only one of them has. */
export class NamedHubs {
  readonly #self: NamedHubsCollaborators['self'];
  readonly #mesh: NamedHubsCollaborators['mesh'];

  constructor({ self, mesh }: NamedHubsCollaborators) {
    this.#self = self;
    this.#mesh = mesh;
  }

  isSelf(node: string): boolean {
    return node === this.#self.id || node === this.#self.name;
  }

  /** Another hub. NOT_FOUND when there is none. */
  peer(node: string): NamedHub {
    const peer = this.#mesh.peers().find(({ id, name }) => id === node || name === node);
    if (!peer) throw unknownHub(node);
    return peer;
  }

  /** VALIDATION_ERROR when one of the names is that of several hubs: two boards are called alike until somebody names them. */
  requireDistinct(nodes: readonly string[]): void {
    for (const node of nodes) {
      // An id is no name, and most requests that name a hub come from another hub and name this one.
      if (node === this.#self.id) continue;
      const peers = this.#mesh.peers();
      if (peers.some(({ id }) => id === node)) continue;
      const ids = [this.#self, ...peers].filter(({ name }) => name === node).map(({ id }) => id);
      if (ids.length > 1) throw severalHubs(node, ids);
    }
  }

  /** Throws where it is the hubs themselves that are missing: NOT_FOUND, or NODE_UNAVAILABLE when none of them can be reached. */
  requireReachable(nodes: readonly string[]): void {
    if (nodes.some((node) => this.isSelf(node))) return;
    const peers = nodes.map((node) => this.peer(node));
    const [first] = peers;
    if (!first || peers.some(({ isReachable }) => isReachable)) return;
    throw new AtmoError('NODE_UNAVAILABLE', `${first.name} (${first.id}) cannot be reached; see that it runs, then try again`, {
      node_id: first.id,
    });
  }
}

function unknownHub(node: string): AtmoError {
  return new AtmoError('NOT_FOUND', `There is no hub ${JSON.stringify(node.slice(0, 80))} in the mesh; list the peers to see who is`);
}

function severalHubs(name: string, ids: readonly string[]): AtmoError {
  const message = `More than one hub is called ${JSON.stringify(name.slice(0, 80))}: ${ids.join(', ')}; name it by its id`;
  return new AtmoError('VALIDATION_ERROR', message, { hubs: [...ids] });
}
