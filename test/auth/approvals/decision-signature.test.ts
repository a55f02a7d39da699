import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { passkeyCounter, readRegistration } from '../../../src/auth/approvals/passkey.ts';
import { passkeyMessage } from '../../../src/codec/approval-payload.ts';
import { personKeyId, personKeyOf } from '../../../src/codec/person-key.ts';
import type { ApprovalRequest, PasskeyFacts } from '../../../src/core/auth/approvals.ts';
import type { Effect, Principal } from '../../../src/core/auth/principal.ts';
import { signApproval } from '../../../src/web/api/approval-signature.ts';
import { makePasskey, type PasskeyPage, signWithPasskey } from '../../../src/web/api/passkey.ts';
import type { SigningKey } from '../../../src/web/api/signing-key.ts';
import { rawP256 } from '../people/people-fixture.ts';
import { AGENT, makeApprovals, requestOf, statementFor } from './approval-fixture.ts';

const ORIGIN = 'https://hub.example:8081';

/** An authenticator as WebAuthn describes it, with one passkey; `change` is what a forger would alter before signing. */
class Authenticator {
  readonly #keys: { readonly privateKey: KeyObject; readonly publicKey: KeyObject };
  readonly #isEs256: boolean;
  counter = 0;
  flags = 0x05;
  origin = ORIGIN;
  rpId = 'hub.example';
  /** Key type, algorithm and curve of the public key, encoded as in COSE. */
  keyKind: readonly [kty: number, alg: number, crv: number];

  constructor(kind: 'es256' | 'ed25519') {
    this.#isEs256 = kind === 'es256';
    this.keyKind = this.#isEs256 ? [0x02, 0x26, 0x01] : [0x01, 0x27, 0x06];
    this.#keys = this.#isEs256 ? generateKeyPairSync('ec', { namedCurve: 'P-256' }) : generateKeyPairSync('ed25519');
  }

  page(): PasskeyPage {
    return {
      isSecureContext: true,
      location: { hostname: 'hub.example' },
      navigator: {
        credentials: {
          create: async (options) => this.#create((options as { publicKey: { challenge: Uint8Array } }).publicKey.challenge),
          get: async (options) => this.#get((options as { publicKey: { challenge: ArrayBuffer } }).publicKey.challenge),
        },
      },
    };
  }

  #create(challenge: Uint8Array) {
    const id = Buffer.from('credential-1');
    const length = Buffer.alloc(2);
    length.writeUInt16BE(id.length);
    const data = Buffer.concat([this.#data(this.flags | 0x40), Buffer.alloc(16), length, id, this.#coseKey()]);
    const response = { clientDataJSON: this.#client('webauthn.create', challenge), getAuthenticatorData: () => data };
    return { rawId: id, response };
  }

  #get(challenge: ArrayBuffer) {
    const clientDataJSON = this.#client('webauthn.get', new Uint8Array(challenge));
    const authenticatorData = this.#data(this.flags);
    const message = Buffer.concat([authenticatorData, createHash('sha256').update(clientDataJSON).digest()]);
    const signature = sign(this.#isEs256 ? 'sha256' : null, message, this.#keys.privateKey);
    return { response: { authenticatorData, clientDataJSON, signature } };
  }

  #data(flags: number): Buffer {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(this.counter);
    return Buffer.concat([createHash('sha256').update(this.rpId).digest(), Uint8Array.of(flags), counter]);
  }

  #client(type: string, challenge: Uint8Array): Buffer {
    return Buffer.from(
      JSON.stringify({ type, challenge: Buffer.from(challenge).toString('base64url'), origin: this.origin, crossOrigin: false }),
    );
  }

  #coseKey(): Buffer {
    const { x = '', y = '' } = this.#keys.publicKey.export({ format: 'jwk' });
    const part = (text: string) => Buffer.from(text, 'base64url');
    const [kty, alg, crv] = this.keyKind;
    const kind = Uint8Array.of(0x01, kty, 0x03, alg, 0x20, crv);
    const key = Buffer.concat([kind, Buffer.from('215820', 'hex'), part(x)]);
    if (!this.#isEs256) return Buffer.concat([Uint8Array.of(0xa4), key]);
    return Buffer.concat([Uint8Array.of(0xa5), key, Buffer.from('225820', 'hex'), part(y)]);
  }
}

async function registered(authenticator: Authenticator) {
  const made = await makePasskey({ name: 'ann', title: 'Ann' }, 'challenge-1', authenticator.page());
  const text = (name: string) => String(made[name]);
  const registration = {
    credentialId: text('credential_id'),
    clientData: text('client_data'),
    authenticatorData: text('authenticator_data'),
  };
  return { registration, read: (challenge = 'challenge-1') => readRegistration(registration, challenge) };
}

describe('a passkey', () => {
  test.each(['es256', 'ed25519'] as const)('with %s is registered, confirmed and approves a request', async (kind) => {
    const { approvers, file, queue, enrol } = await makeApprovals();
    await enrol('owner');
    const authenticator = new Authenticator(kind);
    const offer = await approvers.offer({ person: 'ann', label: 'phone', ...(await registered(authenticator)).read() });
    expect([approvers.offers().map(({ keyId }) => keyId), approvers.keysOf('ann')]).toEqual([[offer.keyId], []]);
    const { keyId, passkey } = await approvers.confirm(offer.keyId);
    expect([keyId, passkey, approvers.offers()]).toEqual([
      personKeyId(offer.key),
      { credentialId: Buffer.from('credential-1').toString('base64url'), rpId: 'hub.example', origin: ORIGIN, signCount: 0 },
      [],
    ]);
    const view = await file();
    authenticator.counter = 7;
    const statement = statementFor(view, 'ann');
    const signature = await signWithPasskey(statement, { credentialId: offer.passkey?.credentialId ?? '', keyId }, authenticator.page());
    expect((await queue.decide({ approvalId: view.approval_id, decision: 'approve', person: 'ann', signature })).state).toBe('approved');
    expect(approvers.keysOf('ann')[0]?.passkey?.signCount).toBe(7);
    const other = await file(requestOf({ callHash: '99'.repeat(32) }));
    const copied = await signWithPasskey(statementFor(other, 'ann'), { credentialId: '', keyId }, authenticator.page());
    await expect(queue.decide({ approvalId: other.approval_id, decision: 'approve', person: 'ann', signature: copied })).rejects.toThrow(
      /signature/,
    );
  });

  test.each([
    ['es256', 'of another key type', [0x01, 0x26, 0x01]],
    ['es256', 'for another algorithm', [0x02, 0x27, 0x01]],
    ['es256', 'on another curve', [0x02, 0x26, 0x02]],
    ['ed25519', 'of another key type', [0x02, 0x27, 0x06]],
    ['ed25519', 'for another algorithm', [0x01, 0x26, 0x06]],
    ['ed25519', 'on another curve', [0x01, 0x27, 0x04]],
  ] as const)('with %s whose key says that it is %s is not registered', async (kind, _, keyKind) => {
    const authenticator = new Authenticator(kind);
    authenticator.keyKind = keyKind;
    const { read } = await registered(authenticator);
    expect(() => read()).toThrow(/uses neither ES256 nor Ed25519/);
  });

  const ANN: Principal = { ...AGENT, id: 'ann' };
  const { plan, effects } = requestOf();
  const admin: Effect = { permission: 'admin:hub', risk: 'dangerous', target: 'hub:backup' };

  /** Approves what ann asks for with the passkey of ann. */
  async function withPasskey() {
    const setup = await makeApprovals();
    const authenticator = new Authenticator('es256');
    const { keyId } = await setup.approvers.enrol({ person: 'ann', label: 'phone', ...(await registered(authenticator)).read() });
    const decide = async (extra: Partial<ApprovalRequest> = {}) => {
      const view = await setup.file(requestOf({ principal: ANN, ...extra }));
      const signature = await signWithPasskey(statementFor(view, 'ann'), { credentialId: '', keyId }, authenticator.page());
      return setup.queue.decide({ approvalId: view.approval_id, decision: 'approve', person: 'ann', signature });
    };
    return { ...setup, decide };
  }

  test('approves what its own person asks for, and nothing that acts under the person', async () => {
    const { decide } = await withPasskey();
    expect((await decide()).state).toBe('approved');
    await expect(decide({ principal: { ...ANN, id: 'ann/helper' } })).rejects.toThrow(/acts under/);
  });

  const token = { id: 'a1', chain: ['a1'], text: '', expiresAtMs: 0, keys: [], rateLimits: [] };
  const ofApplication: Principal = { ...ANN, id: 'ann/claude-ai', token: { ...token, grant: 'b2' } };

  test('approves what an application of its own person asks for, and nothing that comes from the token of the application', async () => {
    const { decide } = await withPasskey();
    expect((await decide({ principal: ofApplication })).state).toBe('approved');
    await expect(decide({ principal: { ...ofApplication, token }, callHash: '88'.repeat(32) })).rejects.toThrow(/acts under/);
  });

  test('of its own person is not enough for an application where two persons have to approve, and another key never is', async () => {
    const { decide, enrol, file, say } = await withPasskey();
    await expect(decide({ principal: ofApplication, personsNeeded: 2 })).rejects.toThrow(/acts under/);
    const software = await enrol('ann');
    const view = await file(requestOf({ principal: ofApplication, callHash: '77'.repeat(32) }));
    await expect(say(view, software)).rejects.toThrow(/acts under/);
  });

  test.each<[string, Partial<ApprovalRequest>]>([
    ['two persons have to approve', { personsNeeded: 2 }],
    ['only a rule asks for people', { effects: [{ permission: 'device:control:lamp', risk: 'low', target: 'lamp/1/OnOff/On' }] }],
    ['is administration', { effects: [admin] }],
    ['is administration beside a lock', { effects: [admin, ...effects] }],
    ['is administration of a lock', { effects: [{ ...admin, target: 'door' }] }],
    ['administers a lock in a step', { plan: { ...plan, steps: [{ ...plan, targets: ['door'] }] } }],
    ['runs a program', { plan: { ...plan, program: { kind: 'cmd', program: '/bin/ls', args: [], powers: [], versions: [] } } }],
    ['starts a container', { effects: [...effects, { permission: 'docker:run', risk: 'dangerous', target: 'alpine' }] }],
  ])('does not approve for its own person what %s', async (_what, extra) => {
    const { decide } = await withPasskey();
    await expect(decide(extra)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  });

  test('of its own person does not count when a rule wants two persons later', async () => {
    const { decide, enrol, file, say, queue, viewOf } = await withPasskey();
    const [ben, cid] = [await enrol('ben'), await enrol('cid')];
    await decide();
    const stricter = requestOf({ principal: ANN, personsNeeded: 2 });
    expect(await queue.peek(stricter)).toMatchObject({ state: 'pending', needed: 2, given: 0 });
    const view = await file(stricter);
    await say(view, ben);
    expect(viewOf(view.approval_id)).toMatchObject({ state: 'pending', given: 1 });
    await say(view, cid);
    expect(await queue.check(stricter)).toMatchObject({ state: 'approved', by: ['ben', 'cid'] });
  });

  test.each<[string, (authenticator: Authenticator) => void]>([
    ['for another name', (authenticator) => (authenticator.rpId = 'evil.example')],
    ['on a page without encryption', (authenticator) => (authenticator.origin = 'http://hub.example')],
    ['without a fingerprint, face or PIN', (authenticator) => (authenticator.flags = 0x01)],
    ['while nobody was there', (authenticator) => (authenticator.flags = 0x04)],
  ])('is not registered if it was made %s', async (_what, change) => {
    const authenticator = new Authenticator('es256');
    change(authenticator);
    expect((await registered(authenticator)).read).toThrow(/passkey/);
  });

  test('is not registered for another challenge, with another id, or cut short', async () => {
    const { registration, read } = await registered(new Authenticator('es256'));
    expect(() => read('challenge-2')).toThrow(/another challenge/);
    expect(() => readRegistration({ ...registration, credentialId: 'AAAA' }, 'challenge-1')).toThrow(/another id/);
    const data = Buffer.from(registration.authenticatorData, 'base64url');
    data.writeUInt8(data.readUInt8(32) & ~0x40, 32);
    const withoutKey = { ...registration, authenticatorData: data.toString('base64url') };
    expect(() => readRegistration(withoutKey, 'challenge-1')).toThrow(/has no public key/);
    for (let length = 0; length < registration.authenticatorData.length; length += 3) {
      expect(() =>
        readRegistration({ ...registration, authenticatorData: registration.authenticatorData.slice(0, length) }, 'challenge-1'),
      ).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }));
    }
  });

  test('signs nothing that is altered: 1,000 changed bytes, pages, names and people', async () => {
    const authenticator = new Authenticator('es256');
    const { key, passkey } = (await registered(authenticator)).read();
    const statement = {
      approval_id: 'ab',
      decision: 'approve',
      tool: 't',
      call_hash: 'cd',
      hub: 'h',
      expires_at: 'e',
      person: 'ann',
    } as const;
    const challenge = createHash('sha256').update(passkeyMessage(statement)).digest();
    const by = (changes: Partial<PasskeyFacts> = {}) => ({ key: personKeyOf(key), passkey: { ...passkey, ...changes } });
    const signature = await signWithPasskey(statement, { credentialId: '', keyId: '' }, authenticator.page());
    expect(passkeyCounter(signature, challenge, by())).toBe(0);
    expect(passkeyCounter(signature, challenge, by({ origin: 'https://evil.example' }))).toBeUndefined();
    expect(passkeyCounter(signature, challenge, by({ rpId: 'evil.example' }))).toBeUndefined();
    expect(passkeyCounter(signature, challenge, by({ signCount: 1 }))).toBeUndefined();
    expect(
      passkeyCounter(
        signature,
        createHash('sha256')
          .update(passkeyMessage({ ...statement, person: 'bob' }))
          .digest(),
        by(),
      ),
    ).toBeUndefined();
    const parts = JSON.parse(Buffer.from(signature, 'base64url').toString()) as Record<string, string>;
    const names = Object.keys(parts);
    for (let count = 0; count < 1_000; count++) {
      const name = names[count % names.length] ?? '';
      const bytes = Buffer.from(parts[name] ?? '', 'base64url');
      bytes[count % bytes.length] = (bytes[count % bytes.length] ?? 0) ^ (1 << (count % 8));
      const altered = Buffer.from(JSON.stringify({ ...parts, [name]: bytes.toString('base64url') })).toString('base64url');
      expect(passkeyCounter(altered, challenge, by()), `${name} ${count}`).toBeUndefined();
    }
  });
});

describe('a key of a browser without Ed25519', () => {
  async function es256Key(): Promise<SigningKey> {
    const pair = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign', 'verify']);
    const raw = await crypto.subtle.exportKey('raw', pair.publicKey);
    return { privateKey: pair.privateKey, publicKey: Buffer.from(raw).toString('base64url') };
  }

  test('approves with ES256 what it signed, and nothing else', async () => {
    const { approvers, file, queue } = await makeApprovals();
    const key = await es256Key();
    await approvers.enrol({ person: 'ann', label: 'tablet', key: key.publicKey });
    const view = await file();
    const decide = (signature: string, decision: 'approve' | 'deny' = 'approve') =>
      queue.decide({ approvalId: view.approval_id, decision, person: 'ann', signature });
    const signature = await signApproval(statementFor(view, 'ann'), key);
    await expect(decide(signature, 'deny')).rejects.toThrow(/signature/);
    const bytes = Buffer.from(signature, 'base64url');
    for (let index = 0; index < bytes.length; index++) {
      const altered = Buffer.from(bytes);
      altered[index] = (altered[index] ?? 0) ^ 1;
      await expect(decide(altered.toString('base64url'))).rejects.toThrow();
    }
    expect((await decide(signature)).state).toBe('approved');
  });

  test('is refused if it is no point of the curve', () => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const raw = Buffer.from(rawP256(publicKey), 'base64url');
    raw[64] = (raw[64] ?? 0) ^ 1;
    expect(() => personKeyOf(raw.toString('base64url'))).toThrow(/P-256/);
  });
});
