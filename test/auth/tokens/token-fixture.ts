import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import { isAgentOfClient } from '../../../src/auth/oauth/client-agents.ts';
import { RevocationList } from '../../../src/auth/tokens/revocation-list.ts';
import { signRoot, TokenSeal, tokenText } from '../../../src/auth/tokens/token-chain.ts';
import type { TokenClaims } from '../../../src/auth/tokens/token-claims.ts';
import { TokenIssuer, TokenRecords } from '../../../src/auth/tokens/token-issuer.ts';
import { TokenVerifier } from '../../../src/auth/tokens/token-verifier.ts';
import { hubIdOf, rawPublicKey } from '../../../src/codec/public-key.ts';
import { EventBus, type HubEvent } from '../../../src/core/events.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';

export interface KeyPair {
  readonly privateKey: KeyObject;
  /** Raw, base64url. */
  readonly publicKey: string;
}

export function keyPair(): KeyPair {
  const { privateKey } = generateKeyPairSync('ed25519');
  return { privateKey, publicKey: rawPublicKey(privateKey) };
}

export interface FixtureOptions {
  readonly meshId?: string;
  readonly hub?: KeyPair;
  readonly clock?: ManualClock;
  readonly store?: MemoryKeyValueStore;
}

/** A hub's tokens with everything around them in memory; `store` and `hub` of an older room make it that room after a restart. */
export async function tokenServices(options: FixtureOptions = {}) {
  const clock = options.clock ?? new ManualClock();
  const store = options.store ?? new MemoryKeyValueStore(clock);
  const pair = options.hub ?? keyPair();
  const hub = { ...pair, hubId: hubIdOf(pair.publicKey) };
  const time = { now: () => clock.now(), isTrusted: () => true };
  const issuers = Object.assign(new Map<string, string>([[hub.hubId, hub.publicKey]]), { permissionsOf: () => undefined });
  const events = new EventBus('test', clock);
  const heard: HubEvent[] = [];
  events.listen((event) => heard.push(event));
  const records = new TokenRecords({ store, time }, hub.hubId);
  const revocations = new RevocationList({ hub, issuers, records, store, clock, time, logger: silentLogger });
  await revocations.start();
  const mesh = { meshId: () => options.meshId };
  const verifier = new TokenVerifier({ issuers, revocations, time, onIssuedAt: () => {} }, { hubId: hub.hubId, ...mesh });
  const isApplication = (agentId: string) => isAgentOfClient(store, agentId);
  const issuer = new TokenIssuer({ hub, verifier, revocations, records, isApplication, time, events }, mesh);
  const nowSeconds = () => Math.floor(clock.now() / 1000);
  /** Sound claims of a root token that the hub made a moment ago. */
  const rootClaims = (changes: Partial<TokenClaims> = {}): TokenClaims => ({
    issuer: hub.hubId,
    subject: 'light-agent',
    expiresAt: nowSeconds() + 3600,
    issuedAt: nowSeconds(),
    id: randomBytes(16).toString('hex'),
    key: hub.publicKey,
    permissions: ['device:control:lamp-1'],
    ...changes,
  });
  const rootToken = (changes: Partial<TokenClaims> = {}): string => tokenText(signRoot(rootClaims(changes), hub.privateKey));
  const seal = new TokenSeal(hub.privateKey);
  return {
    clock,
    store,
    hub,
    time,
    issuers,
    hasLostState: false,
    events,
    heard,
    revocations,
    verifier,
    records,
    issuer,
    seal,
    nowSeconds,
    rootClaims,
    rootToken,
  };
}

/** The code and message of what is thrown, for tests that look at both. */
export function refusalOf(work: () => unknown): { readonly code: string; readonly message: string } | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    const { code = 'none', message = '' } = error as { readonly code?: string; readonly message?: string };
    return { code, message };
  }
}
