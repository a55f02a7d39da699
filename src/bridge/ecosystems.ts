import type { Principal, TokenAuthority } from '../core/auth/principal.ts';
import type { Clock } from '../core/clock.ts';
import type { EcosystemFabric } from '../core/devices/matter-bridge.ts';
import { AtmoError } from '../core/errors.ts';
import { givenName } from '../core/untrusted-text.ts';
import type { BridgeStore, Ecosystem } from './bridge-store.ts';
import { type Needs, principalWith, renewedTokens } from './bridge-tokens.ts';

const MAX_LABEL = 64;

interface EcosystemParts {
  readonly store: BridgeStore;
  readonly tokens: TokenAuthority;
  readonly clock: Clock;
}

/** The ecosystems that have commissioned a bridge. Each is an agent of its own, with tokens for exactly the things of its bridge. */
export class Ecosystems {
  readonly #parts: EcosystemParts;

  constructor(parts: EcosystemParts) {
    this.#parts = parts;
  }

  list(): readonly Ecosystem[] {
    return this.#parts.store.ecosystems();
  }

  /** Compares the ecosystems with the fabrics of their bridge: those that left lose their tokens, and new ones get an agent. */
  settle(bridge: number, fabrics: readonly EcosystemFabric[]): void {
    const { store, clock } = this.#parts;
    const known = this.list().filter((one) => one.bridge === bridge);
    for (const one of known) if (!fabrics.some((fabric) => isOf(one, fabric))) this.end(one);
    for (const fabric of fabrics) {
      const label = givenName(fabric.label, MAX_LABEL);
      const one = known.find((ecosystem) => isOf(ecosystem, fabric));
      if (one && one.label === label) continue;
      const joined = {
        agentId: one?.agentId ?? store.nextAgentId(),
        joinedAtMs: one?.joinedAtMs ?? clock.now(),
        tokens: one?.tokens ?? [],
      };
      const { fabricIndex, identity, vendorId } = fabric;
      const { agentId, joinedAtMs, tokens } = joined;
      store.putEcosystem({ agentId, bridge, fabricIndex, identity, vendorId, label, joinedAtMs, tokens });
    }
  }

  /** Gives each ecosystem of a bridge tokens for exactly `needs`, and ends its other tokens. */
  grant(bridge: number, needs: Needs): void {
    const { store, tokens } = this.#parts;
    for (const one of this.list().filter((ecosystem) => ecosystem.bridge === bridge)) {
      const after = renewedTokens(this.#parts, one.agentId, { held: one.tokens, needs });
      const { agentId, fabricIndex, identity, vendorId, label, joinedAtMs } = one;
      // The new tokens are stored first. Otherwise, the end of the old ones would look like the end of the ecosystem.
      store.putEcosystem({ agentId, bridge, fabricIndex, identity, vendorId, label, joinedAtMs, tokens: after });
      for (const { id } of one.tokens) if (!after.some((token) => token.id === id)) tokens.revoke(id);
    }
  }

  /** Returns the caller of a command. Throws PERMISSION_DENIED if the fabric is unknown or the owner has not chosen what it wants. */
  principalOf(bridge: number, fabricIndex: number, permissions: readonly string[]): Principal {
    const one = this.list().find((ecosystem) => ecosystem.bridge === bridge && ecosystem.fabricIndex === fabricIndex);
    if (!one) throw new AtmoError('PERMISSION_DENIED', 'This ecosystem has been removed');
    return principalWith(this.#parts.tokens, one.tokens, permissions);
  }

  /** Returns the ecosystem that a token belongs to. */
  holderOf(tokenId: string): Ecosystem | undefined {
    return this.list().find(({ tokens }) => tokens.some(({ id }) => id === tokenId));
  }

  /** Forgets an ecosystem and ends its tokens. */
  end({ agentId, tokens }: Ecosystem): void {
    this.#parts.store.deleteEcosystem(agentId);
    for (const { id } of tokens) this.#parts.tokens.revoke(id);
  }
}

function isOf({ fabricIndex, identity }: Ecosystem, fabric: EcosystemFabric): boolean {
  return fabricIndex === fabric.fabricIndex && identity === fabric.identity;
}
