import type { Principal, TokenAuthority } from '../core/auth/principal.ts';
import type { Clock } from '../core/clock.ts';
import type { EcosystemFabric } from '../core/devices/matter-bridge.ts';
import { AtmoError } from '../core/errors.ts';
import { givenName } from '../core/untrusted-text.ts';
import type { BridgeStore, Ecosystem } from './bridge-store.ts';
import { isRevoked, type Need, type Needs, principalWith, renewedTokens } from './bridge-tokens.ts';

const MAX_LABEL = 64;
/** How long a commissioning takes that began at the end of the window. */
const COMMISSIONING_MS = 120_000;

interface EcosystemParts {
  readonly store: BridgeStore;
  readonly tokens: TokenAuthority;
  readonly clock: Clock;
}

/** The ecosystems that have commissioned a bridge. Each is an agent of its own, with tokens for exactly the things of its bridge. */
export class Ecosystems {
  readonly #parts: EcosystemParts;
  /**
   * Until when each bridge lets ecosystems in, by the monotonic clock. In memory alone: no bridge is open after a start, and a clock that a
   * power cut set back must not open one again.
   */
  readonly #openUntilMs = new Map<number, number>();

  constructor(parts: EcosystemParts) {
    this.#parts = parts;
  }

  /** Returns the ecosystems that have not been removed. */
  list(): readonly Ecosystem[] {
    return this.#parts.store.ecosystems().filter(({ isEnded }) => !isEnded);
  }

  /**
   * Compares the ecosystems with the fabrics of their bridge: an ecosystem whose fabric left loses its tokens, and a new fabric gets an
   * agent if it joined while the owner had the bridge open. Returns the fabrics that have to leave: those of removed ecosystems, and those
   * that joined at another time.
   */
  settle(bridge: number, fabrics: readonly EcosystemFabric[]): readonly number[] {
    const { store } = this.#parts;
    const known = store.ecosystems().filter((one) => one.bridge === bridge);
    for (const one of known) if (!fabrics.some((fabric) => isOf(one, fabric))) this.#forget(one);
    for (const one of this.list()) if (one.bridge === bridge && this.#isRevoked(one)) this.end(one);
    return fabrics.flatMap((fabric) => (this.#isWelcome(bridge, fabric) ? [] : [fabric.fabricIndex]));
  }

  /** Lets ecosystems in that join the bridge within this time. */
  expect(bridge: number, durationMs: number): void {
    this.#openUntilMs.set(bridge, this.#parts.clock.monotonic() + durationMs + COMMISSIONING_MS);
  }

  /** Keeps the label of a known fabric, or takes in a new one. Returns false for one that has to leave. */
  #isWelcome(bridge: number, fabric: EcosystemFabric): boolean {
    const { store, clock } = this.#parts;
    const label = givenName(fabric.label, MAX_LABEL);
    const one = store.ecosystems().find((ecosystem) => ecosystem.bridge === bridge && isOf(ecosystem, fabric));
    if (one?.isEnded || (!one && !this.#isExpected(bridge))) return false;
    if (one?.label === label) return true;
    const { fabricIndex, identity, vendorId } = fabric;
    const { agentId, joinedAtMs, tokens } = one ?? { agentId: this.#nextAgentId(), joinedAtMs: clock.now(), tokens: [] };
    store.putEcosystem({ agentId, bridge, fabricIndex, identity, vendorId, label, joinedAtMs, tokens });
    return true;
  }

  /**
   * Returns whether the owner has the bridge open. An ecosystem could also bring another one at any time, or a removed one could be found in
   * the storage of the bridge; neither was let in.
   */
  #isExpected(bridge: number): boolean {
    const untilMs = this.#openUntilMs.get(bridge);
    return untilMs !== undefined && this.#parts.clock.monotonic() <= untilMs;
  }

  /** An agent that the owner named like an ecosystem keeps its name for itself. */
  #nextAgentId(): string {
    const taken = new Set(this.#parts.tokens.list().map(({ agentId }) => agentId));
    return this.#parts.store.nextAgentId((agentId) => taken.has(agentId));
  }

  /** Gives each ecosystem of a bridge tokens for exactly `needs`, and ends its other tokens. Ends one whose token was revoked. */
  grant(bridge: number, needs: Needs): void {
    for (const one of this.list().filter((ecosystem) => ecosystem.bridge === bridge)) {
      // A revoked token is not valid, so it would be replaced by a new one.
      if (this.#isRevoked(one)) this.end(one);
      else this.#renew(one, needs);
    }
  }

  #renew(one: Ecosystem, needs: Needs): void {
    const { store, tokens } = this.#parts;
    const after = renewedTokens(this.#parts, one.agentId, { held: one.tokens, needs });
    // The new tokens are stored first. Otherwise, the end of the old ones would look like the end of the ecosystem.
    store.putEcosystem(withTokens(one, after));
    for (const { id } of one.tokens) if (!after.some((token) => token.id === id)) tokens.revoke(id);
  }

  /** Returns the caller of a command. Throws PERMISSION_DENIED if the fabric was removed or the owner has not chosen what it wants. */
  principalOf(bridge: number, identity: string, need: Need): Principal {
    const one = this.list().find((ecosystem) => ecosystem.bridge === bridge && ecosystem.identity === identity);
    if (!one) throw new AtmoError('PERMISSION_DENIED', 'This ecosystem has been removed');
    return principalWith(this.#parts.tokens, one.tokens, need);
  }

  /** Returns the ecosystem that a token belongs to. */
  holderOf(tokenId: string): Ecosystem | undefined {
    return this.list().find(({ tokens }) => tokens.some(({ id }) => id === tokenId));
  }

  /** Ends an ecosystem and its tokens. It stays known until its fabric has left, so that it does not come back as a new one. */
  end(ecosystem: Ecosystem): void {
    this.#parts.store.putEcosystem({ ...withTokens(ecosystem, []), isEnded: true });
    for (const { id } of ecosystem.tokens) this.#parts.tokens.revoke(id);
  }

  #forget({ agentId, tokens }: Ecosystem): void {
    this.#parts.store.deleteEcosystem(agentId);
    for (const { id } of tokens) this.#parts.tokens.revoke(id);
  }

  /** Returns whether a token was revoked without that this hub could end the ecosystem, for example before a restore. */
  #isRevoked({ tokens }: Ecosystem): boolean {
    return tokens.some(({ id }) => isRevoked(this.#parts.tokens, id));
  }
}

function withTokens(
  { agentId, bridge, fabricIndex, identity, vendorId, label, joinedAtMs }: Ecosystem,
  tokens: Ecosystem['tokens'],
): Ecosystem {
  return { agentId, bridge, fabricIndex, identity, vendorId, label, joinedAtMs, tokens };
}

function isOf({ fabricIndex, identity }: Ecosystem, fabric: EcosystemFabric): boolean {
  return fabricIndex === fabric.fabricIndex && identity === fabric.identity;
}
