import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { ApproverRegistry } from '../../../src/auth/approvals/approver-registry.ts';
import { GrantedTokens } from '../../../src/auth/oauth/access-tokens.ts';
import { GrantStore } from '../../../src/auth/oauth/grant-store.ts';
import { OAuthGrants } from '../../../src/auth/oauth/grants.ts';
import { ApprovingPersons, Household } from '../../../src/auth/people/household.ts';
import { Invitations } from '../../../src/auth/people/invitations.ts';
import { PeopleService } from '../../../src/auth/people/people-service.ts';
import { SignInStore } from '../../../src/auth/people/sign-in-store.ts';
import { rawPublicKey } from '../../../src/codec/public-key.ts';
import { type Person, plainCode, type SignInToken, signInStatement } from '../../../src/core/auth/people.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import type { Json } from '../../../src/core/json.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import type { AuditNote } from '../../../src/core/storage/audit-sink.ts';
import type { KeyValueStore } from '../../../src/core/storage/key-value-store.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';
import { type KeyPair, keyPair, tokenServices } from '../tokens/token-fixture.ts';

/** A browser with a key that it can sign with. */
export interface Browser {
  readonly key: string;
  sign(statement: Uint8Array): string;
}

export function browser(kind: 'ed25519' | 'es256' = 'ed25519'): Browser {
  if (kind === 'ed25519') {
    const { privateKey } = generateKeyPairSync('ed25519');
    return { key: rawPublicKey(privateKey), sign: (statement) => sign(null, statement, privateKey).toString('base64url') };
  }
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const signed = (statement: Uint8Array) => sign('sha256', statement, { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return { key: rawP256(publicKey), sign: (statement) => signed(statement).toString('base64url') };
}

/** The uncompressed point of a P-256 key, base64url. */
export function rawP256(key: KeyObject): string {
  const { x = '', y = '' } = key.export({ format: 'jwk' });
  return Buffer.concat([Uint8Array.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]).toString('base64url');
}

export const ANN: Person = { name: 'ann', title: 'Ann', role: 'adult', limits: {} };
export const TIM: Person = { name: 'tim', title: 'Tim', role: 'child', limits: { rooms: ['hall', 'kitchen', 'kids-room'] } };

export interface HomeOptions {
  readonly clock?: ManualClock;
  readonly store?: KeyValueStore;
  readonly hub?: KeyPair;
}

/** The household of a hub over one store; a home that is made with the store and hub of another is the hub after a restart. */
export async function household({ clock = new ManualClock(), store = new MemoryKeyValueStore(clock), hub = keyPair() }: HomeOptions = {}) {
  const notes: AuditNote[] = [];
  const audit = { record: async (entry: unknown) => void notes.push(entry as AuditNote) };
  const tokens = await tokenServices({ clock, store: store as MemoryKeyValueStore, hub });
  const time = { now: () => clock.now() };
  const approvers = new ApproverRegistry({ store, time, audit, persons: new ApprovingPersons({ store, time }) });
  const home = new Household({ store, approvers });
  const signIns = new SignInStore({ store });
  const granted = new GrantedTokens();
  const grants = new OAuthGrants({
    audit,
    logger: silentLogger,
    time,
    tokens: tokens.issuer,
    granted,
    grants: new GrantStore({ store, time }),
    people: home,
    signIns,
  });
  await grants.start();
  const people = new PeopleService({
    clock,
    logger: silentLogger,
    audit,
    time,
    household: home,
    invitations: new Invitations({ store, time }),
    signIns,
    tokens: tokens.issuer,
    grants,
    approvers,
  });
  await people.start();

  const accept = (code: string, by: Browser, changes: { readonly signature?: string; readonly challenge?: string } = {}) => {
    const challenge = changes.challenge ?? people.challenge();
    const signature = changes.signature ?? by.sign(signInStatement('accept', plainCode(code), challenge));
    return people.accept({ code, key: by.key, label: 'Firefox on Android', challenge, signature });
  };
  const renew = (signInId: string, by: Browser, challenge = people.challenge()) =>
    people.renew({ signInId, challenge, signature: by.sign(signInStatement('renew', signInId, challenge)) });
  const isValid = (token: string) => tokens.issuer.inspect(token).state === 'valid';
  /** A person who is signed in with a browser. */
  const signedIn = async (person: Person, by: Browser = browser()): Promise<SignInToken & { readonly by: Browser }> => {
    if (!people.find(person.name)) await people.add(person);
    return { ...(await accept((await people.invite(person.name)).code, by)), by };
  };
  return { clock, store, hub, notes, people, grants, granted, audit, approvers, tokens, accept, renew, isValid, signedIn };
}

/** A store whose process is killed after the change with this number: nothing of that process is stored from then on. */
export class KilledStore implements KeyValueStore {
  readonly #store: KeyValueStore;
  #left: number;
  isDead = false;

  constructor(store: KeyValueStore, changes: number) {
    this.#store = store;
    this.#left = changes;
    this.isDead = changes <= 0;
  }

  get = (space: string, key: string) => this.#store.get(space, key);
  entries = (space: string) => this.#store.entries(space);

  delete(space: string, key: string): boolean {
    this.#spend();
    return this.#store.delete(space, key);
  }

  set(space: string, key: string, value: Json, options?: { readonly ttlMs?: number }): void {
    this.#spend();
    this.#store.set(space, key, value, options);
  }

  #spend(): void {
    if (this.#left <= 0) this.isDead = true;
    if (this.isDead) throw new AtmoError('STORAGE_FAILED', 'killed');
    this.#left -= 1;
  }
}
