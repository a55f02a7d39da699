import { MeshTokens } from '../../src/auth/tokens/mesh-tokens.ts';
import { signRoot, tokenText } from '../../src/auth/tokens/token-chain.ts';
import { memberRevocationCodec, revocationStatementCodec } from '../../src/codec/messages/membership.ts';
import { statementAnswerCodec, statementRequestCodec } from '../../src/codec/messages/sync.ts';
import type { SigningKey } from '../../src/codec/public-key.ts';
import type { Principal } from '../../src/core/auth/principal.ts';
import type { HubId } from '../../src/core/ids.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { CallClient } from '../../src/mesh/rpc/call-client.ts';
import { ControlLinks } from '../../src/mesh/rpc/control-links.ts';
import { tokenServices } from '../auth/tokens/token-fixture.ts';
import { enterAsFounder, type MembershipFixture, membershipFixture, rootKey } from '../mesh/membership/membership-fixture.ts';
import { MemoryEngine } from '../mesh/memory-engine.ts';
import type { MemoryNetwork } from '../mesh/memory-network.ts';

const NEVER = new AbortController().signal;
const NO_DROPS = { count: () => undefined };
/** A name of a statement that no hub has. */
const UNKNOWN_STATEMENT = '0'.repeat(32);

/** A bearer of a token that the other hub issued. */
interface Bearer {
  readonly principal: Principal;
  readonly tokenId: string;
}

interface Place {
  readonly network: MemoryNetwork;
  readonly address: string;
}

/** A member of a mesh that calls other members and checks nothing itself. */
export class OtherHub implements AsyncDisposable {
  readonly id: HubId;
  readonly address: string;
  readonly engine: MemoryEngine;
  readonly links: ControlLinks;
  readonly client: CallClient;
  readonly member: MembershipFixture;
  readonly #statements: { readonly kind: 'member_revocation'; readonly bytes: Uint8Array }[] = [];
  #names = 0;

  constructor(member: MembershipFixture, { network, address }: Place) {
    const { self, gate, membership, time, clock } = member;
    this.id = self.hubId;
    this.address = address;
    this.member = member;
    this.engine = new MemoryEngine({ network, address, self: { id: self.hubId, publicKey: self.publicKey }, gate });
    this.links = new ControlLinks({ engine: this.engine, clock, logger: silentLogger, drops: NO_DROPS });
    const routes = { nextHop: (id: HubId) => id, epochOf: () => undefined, reads: () => true };
    const members = { keyOf: (id: HubId) => membership.member(id) };
    const tokens = new MeshTokens({ hub: self, mesh: membership, time });
    this.client = new CallClient({ self, links: this.links, routes, members, tokens, clock, time, drops: NO_DROPS });
  }

  async start(): Promise<void> {
    await this.engine.start();
    await this.links.start();
    this.links.handle('statements', async () => statementAnswerCodec.encode({ statements: this.#statements }));
  }

  /** Issues a token of this hub. */
  async bearer(permissions: readonly string[], callsPerMinute?: number): Promise<Bearer> {
    const { self, membership, clock } = this.member;
    const tokens = await tokenServices({ meshId: membership.requireOwn().meshId, hub: self, clock });
    this.#names += 1;
    const rate = callsPerMinute === undefined ? {} : { rateLimit: { calls: callsPerMinute, seconds: 60 } };
    const claims = tokens.rootClaims({ subject: `far-${this.#names}`, key: self.publicKey, permissions, ...rate });
    const { principal } = tokens.verifier.verify(tokenText(signRoot(claims, self.privateKey)));
    return { principal, tokenId: claims.id };
  }

  /** Tells another member that the root key has revoked this hub. */
  async tellOwnRevocation(target: HubId, root: SigningKey): Promise<void> {
    const { meshId } = this.member.membership.requireOwn();
    const signed = memberRevocationCodec.sign({ meshId, hubId: this.id, atMs: this.member.clock.now() }, root.privateKey);
    this.#statements.push({ kind: 'member_revocation', bytes: revocationStatementCodec.encode({ signed }) });
    // Who is asked for a statement that it does not know asks back.
    await this.links.to(target)?.request('statements', statementRequestCodec.encode({ known: [UNKNOWN_STATEMENT] }), { signal: NEVER });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.links[Symbol.asyncDispose]();
    await this.engine[Symbol.asyncDispose]();
  }
}

/** A hub that made a mesh, with the root key of the mesh. */
export async function foundingHub(
  clock: MembershipFixture['clock'],
  place: Place,
): Promise<{ readonly hub: OtherHub; readonly root: SigningKey }> {
  const member = await membershipFixture({ clock });
  const root = rootKey();
  enterAsFounder(member, root);
  const hub = new OtherHub(member, place);
  await hub.start();
  return { hub, root };
}
