import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { type ApprovalStatement, passkeyMessage } from '../../codec/approval-payload.ts';
import { isSignedStatement } from '../../codec/approval-statement.ts';
import { personKeyId, personKeyOf } from '../../codec/person-key.ts';
import { rawPublicKey } from '../../codec/public-key.ts';
import { type ApproverDirectory, type ApproverKey, type OfferedKey, type PasskeyFacts, PERSON_NAME } from '../../core/auth/approvals.ts';
import { isoTime, type TrustedTime } from '../../core/clock.ts';
import type { HubContext } from '../../core/context.ts';
import { AtmoError, toAtmoError } from '../../core/errors.ts';
import type { OnRepaired } from '../../core/files/recoverable-file.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import type { Logger } from '../../core/logger.ts';
import { isVisible } from '../../core/untrusted-text.ts';
import { openKeyFile } from '../secret-file.ts';
import { passkeyCounter } from './passkey.ts';

const SPACE = 'approvers';
const OFFERS = 'approvers.offered';
const OFFER_MS = 7 * 86_400_000;
const MAX_OFFERS = 32;
const COUNTER = { space: 'approver-enrolments', key: 'last' };
const MAX_KEYS = 256;
const MAX_KEYS_OF_ONE = 8;
const MAX_LABEL_LENGTH = 64;

/** An approver's key, with a serial number that gives the order of enrolments. A clock could not give a reliable order. */
export interface EnrolledKey extends ApproverKey {
  readonly serial: number;
}

/** A key to enrol. */
type NewKey = Pick<ApproverKey, 'person' | 'key' | 'label' | 'passkey' | 'signIn'>;

/** Port: says who may approve at this time. */
interface Approving {
  /** Throws PERMISSION_DENIED if the person may not approve now. */
  requireMayApprove(person: string): void;
}

interface RegistryCollaborators extends Pick<HubContext, 'store' | 'audit'> {
  readonly time: Pick<TrustedTime, 'now'>;
  readonly persons: Approving;
}

/** The registry of approvers and their public keys. It exists only in the hub's store, never in a configuration file. */
export class ApproverRegistry implements ApproverDirectory {
  readonly #ports: RegistryCollaborators;
  readonly #removalListeners = new Set<(key: EnrolledKey) => void>();

  constructor(ports: RegistryCollaborators) {
    this.#ports = ports;
  }

  list(): readonly EnrolledKey[] {
    const keys = this.#ports.store.entries(SPACE).flatMap(({ key, value }) => readKey(key, value) ?? []);
    return keys.sort((a, b) => (a.person === b.person ? a.serial - b.serial : a.person < b.person ? -1 : 1));
  }

  keysOf(person: string): readonly EnrolledKey[] {
    return this.list().filter((key) => key.person === person);
  }

  /** Returns the keys with which a person can decide now. Throws PERMISSION_DENIED if the person may not approve at this time. */
  decidingKeysOf(person: string): readonly EnrolledKey[] {
    const keys = this.keysOf(person);
    if (keys.length > 0) this.#ports.persons.requireMayApprove(person);
    return keys;
  }

  /** Returns whether the person has a key and may approve at this time. */
  mayDecide(person: string): boolean {
    try {
      return this.decidingKeysOf(person).length > 0;
    } catch (error) {
      if (toAtmoError(error).code === 'PERMISSION_DENIED') return false;
      throw error;
    }
  }

  /** Returns the serial of the newest enrolment; 0 if no key was ever enrolled. */
  get lastSerial(): number {
    const stored = this.#ports.store.get(COUNTER.space, COUNTER.key);
    return typeof stored === 'number' ? stored : 0;
  }

  async enrol({ person, key, label, passkey, signIn }: NewKey): Promise<EnrolledKey> {
    requireName(person, label);
    this.#ports.persons.requireMayApprove(person);
    personKeyOf(key);
    const keyId = personKeyId(key);
    this.#requireCapacity(person, keyId);
    const serial = this.lastSerial + 1;
    const enrolled: EnrolledKey = {
      person,
      keyId,
      key,
      label,
      enrolledAt: isoTime(this.#ports.time.now()),
      serial,
      ...(passkey && { passkey }),
      ...(signIn !== undefined && { signIn }),
    };
    // The counter is written before the key. A crash in between skips a serial number, but none is ever assigned twice.
    this.#ports.store.set(COUNTER.space, COUNTER.key, serial);
    this.#save(enrolled);
    await this.#note('approver.enrolled', enrolled);
    return enrolled;
  }

  offers(): readonly OfferedKey[] {
    const offers = this.#ports.store.entries(OFFERS).flatMap(({ key, value }) => readOffer(key, value) ?? []);
    return offers.sort((a, b) => (a.offeredAt < b.offeredAt ? -1 : 1));
  }

  /** Stores a key that waits for comparison. Rejects with VALIDATION_ERROR or CONFLICT like `enrol`, since it may be enrolled next. */
  async offer({ person, key, label, passkey, signIn }: NewKey): Promise<OfferedKey> {
    requireName(person, label);
    personKeyOf(key);
    const keyId = personKeyId(key);
    this.#requireCapacity(person, keyId);
    const others = this.offers().filter((offer) => offer.keyId !== keyId);
    if (others.length >= MAX_OFFERS)
      throw new AtmoError('CONFLICT', 'Too many keys wait for an approver; confirm or refuse some of them first');
    const by = signIn !== undefined && { signIn };
    const offer: OfferedKey = { person, keyId, key, label, offeredAt: isoTime(this.#ports.time.now()), ...by, ...(passkey && { passkey }) };
    const record = { person, key, label, offeredAt: offer.offeredAt, ...by, ...(passkey && { passkey: { ...passkey } }) };
    this.#ports.store.set(OFFERS, keyId, record, { ttlMs: OFFER_MS });
    await this.#note('approver.offered', offer);
    return offer;
  }

  async confirm(keyId: string): Promise<EnrolledKey> {
    const enrolled = await this.enrol(this.#offer(keyId));
    this.#ports.store.delete(OFFERS, keyId);
    return enrolled;
  }

  async refuseOffer(keyId: string): Promise<OfferedKey> {
    const offer = this.#offer(keyId);
    this.#ports.store.delete(OFFERS, keyId);
    await this.#note('approver.offer_refused', offer);
    return offer;
  }

  /** Drops offers, without a note in the audit log: what ended them has its own. */
  dropOffers(isDropped: (offer: OfferedKey) => boolean): void {
    for (const offer of this.offers()) if (isDropped(offer)) this.#ports.store.delete(OFFERS, offer.keyId);
  }

  /** Stores the counter of a passkey before its signature has an effect, so that no copy of the passkey can sign with the same count. */
  noteUse({ keyId }: EnrolledKey, signCount: number): void {
    const key = this.list().find((one) => one.keyId === keyId);
    if (key?.passkey && key.passkey.signCount !== signCount) this.#save({ ...key, passkey: { ...key.passkey, signCount } });
  }

  async remove(keyId: string): Promise<EnrolledKey> {
    const keys = this.list();
    const removed = keys.find((key) => key.keyId === keyId);
    if (!removed) {
      throw new AtmoError('NOT_FOUND', `No approver has a key ${JSON.stringify(keyId.slice(0, 32))}; "atmo approvers" lists them`);
    }
    if (keys.length === 1) {
      throw new AtmoError(
        'CONFLICT',
        `${keyId} is the last approver key: without it nobody could approve anything. Enrol another one first`,
      );
    }
    this.#ports.store.delete(SPACE, keyId);
    for (const listener of this.#removalListeners) listener(removed);
    await this.#note('approver.removed', removed);
    return removed;
  }

  /** Calls `listener` when a key was removed. The returned function unsubscribes. */
  onRemoved(listener: (key: EnrolledKey) => void): () => void {
    this.#removalListeners.add(listener);
    return () => this.#removalListeners.delete(listener);
  }

  #offer(keyId: string): OfferedKey {
    const offer = this.offers().find((one) => one.keyId === keyId);
    if (offer) return offer;
    throw new AtmoError(
      'NOT_FOUND',
      `No key ${JSON.stringify(keyId.slice(0, 32))} waits to be confirmed; the person has to offer it again`,
    );
  }

  #save({ keyId, person, key, label, enrolledAt, serial, passkey, signIn }: EnrolledKey): void {
    const record = { person, key, label, enrolledAt, serial, ...(signIn !== undefined && { signIn }) };
    this.#ports.store.set(SPACE, keyId, { ...record, ...(passkey && { passkey: { ...passkey } }) });
  }

  #requireCapacity(person: string, keyId: string): void {
    const keys = this.list();
    const taken = keys.find((key) => key.keyId === keyId);
    if (taken)
      throw new AtmoError('CONFLICT', `This key is enrolled already, for ${taken.person}; a key belongs to one person`, { key_id: keyId });
    const own = keys.filter((key) => key.person === person).length;
    if (keys.length < MAX_KEYS && own < MAX_KEYS_OF_ONE) return;
    throw new AtmoError('CONFLICT', `A person may have ${MAX_KEYS_OF_ONE} approver keys and a hub ${MAX_KEYS}; remove one first`);
  }

  #note(event: string, { person, keyId, label }: Pick<EnrolledKey, 'person' | 'keyId' | 'label'>): Promise<void> {
    return this.#ports.audit.record({
      kind: 'note',
      event,
      atMs: this.#ports.time.now(),
      principalId: person,
      data: { person, key_id: keyId, label },
    });
  }
}

function requireName(person: string, label: string): void {
  if (!PERSON_NAME.test(person)) {
    throw new AtmoError(
      'VALIDATION_ERROR',
      `${JSON.stringify(person.slice(0, 64))} is no name of a person: 1 to 32 of a-z, 0-9, ".", "_", "-", the first a letter or digit`,
    );
  }
  if (label.length > MAX_LABEL_LENGTH || !isVisible(label) || /[\n\t]/.test(label)) {
    throw new AtmoError('VALIDATION_ERROR', `A label has at most ${MAX_LABEL_LENGTH} characters, and none that is invisible`);
  }
}

function readKey(keyId: string, value: Json): EnrolledKey | undefined {
  if (!isJsonObject(value)) return undefined;
  const { person, key, label, enrolledAt, serial } = value;
  const isWhole = [person, key, label, enrolledAt].every((text) => typeof text === 'string') && typeof serial === 'number';
  const passkey = readPasskey(value.passkey);
  const more = { ...signInIn(value), ...(passkey && { passkey }) };
  return isWhole ? ({ person, keyId, key, label, enrolledAt, serial, ...more } as EnrolledKey) : undefined;
}

function readOffer(keyId: string, value: Json): OfferedKey | undefined {
  if (!isJsonObject(value)) return undefined;
  const { person, key, label, offeredAt } = value;
  if (typeof person !== 'string' || typeof key !== 'string' || typeof label !== 'string' || typeof offeredAt !== 'string') return undefined;
  const passkey = readPasskey(value.passkey);
  return { person, keyId, key, label, offeredAt, ...signInIn(value), ...(passkey && { passkey }) };
}

function signInIn({ signIn }: JsonObject): { readonly signIn?: string } {
  return typeof signIn === 'string' ? { signIn } : {};
}

function readPasskey(value: Json | undefined): PasskeyFacts | undefined {
  if (!isJsonObject(value)) return undefined;
  const { credentialId, rpId, origin, signCount } = value;
  const isWhole =
    typeof credentialId === 'string' && typeof rpId === 'string' && typeof origin === 'string' && typeof signCount === 'number';
  return isWhole ? { credentialId, rpId, origin, signCount } : undefined;
}

const OWNER_KEY_FILE = 'owner.key';
const PERSON = 'owner';

interface OwnerKeyParts {
  readonly approvers: ApproverRegistry;
  readonly logger: Logger;
  readonly onRepaired: OnRepaired;
}

/**
 * Enrols the owner's key as an approver key of the person `owner`. The file `owner.key` (mode 0600) has the private Ed25519 key, and is
 * created at the first start. The hub stores only the public key; the CLI signs with the file. If the file was lost, a new key replaces the
 * lost key, provided that the lost key is still enrolled. This adds no risk: whoever can delete the file could also have read it. After a
 * crash, the next start completes the enrolment. Throws STORAGE_FAILED if others can read the file or if it is malformed.
 */
export async function enrolOwnerKey({ approvers, logger, onRepaired }: OwnerKeyParts, stateDirectory: string): Promise<void> {
  const path = join(stateDirectory, OWNER_KEY_FILE);
  const key = rawPublicKey(openKeyFile({ path, endsWithIt: "the owner's say in approvals", onRepaired }));
  const known = approvers.list();
  const lost = known.filter((other) => other.person === PERSON && other.label === OWNER_KEY_FILE && other.key !== key);
  const isEnrolled = known.some((other) => other.key === key);
  if (!isEnrolled && (known.length === 0 || lost.length > 0)) await approvers.enrol({ person: PERSON, key, label: OWNER_KEY_FILE });
  for (const { keyId } of lost) {
    await approvers.remove(keyId);
    logger.warn('approver.owner_key_replaced', { key_id: keyId });
  }
}

/** A decision that was signed, with the counter of the passkey that signed it; 0 for other keys and for passkeys that do not count. */
export interface SignedBy {
  readonly key: EnrolledKey;
  readonly signCount: number;
}

/** Returns the key that signed the statement: an Ed25519 or ES256 key as COSE_Sign1, or a passkey. Returns undefined if none of them did. */
export function signerOf(signature: string, statement: ApprovalStatement, keys: readonly EnrolledKey[]): SignedBy | undefined {
  for (const key of keys) {
    const signCount = signedCount(signature, statement, key);
    if (signCount !== undefined) return { key, signCount };
  }
  return undefined;
}

function signedCount(signature: string, statement: ApprovalStatement, { key, passkey }: EnrolledKey): number | undefined {
  const publicKey = personKeyOf(key);
  if (!passkey) return isSignedStatement(signature, statement, publicKey.key) ? 0 : undefined;
  const challenge = createHash('sha256').update(passkeyMessage(statement)).digest();
  return passkeyCounter(signature, challenge, { key: publicKey, passkey });
}
