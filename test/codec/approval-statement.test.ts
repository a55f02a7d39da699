import { createPrivateKey, createPublicKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getPublicKeyAsync, signAsync } from '@noble/ed25519';
import { describe, expect, test } from 'vitest';
import type { ApprovalStatement } from '../../src/codec/approval-payload.ts';
import { isSignedStatement, signStatement } from '../../src/codec/approval-statement.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/approvals.md'), 'utf8');
const vector = JSON.parse(/```json\n([\s\S]*?)```/.exec(PAGE)?.[1] ?? '') as {
  readonly seed: string;
  readonly public_key: string;
  readonly statement: ApprovalStatement;
  readonly signature: string;
};
const seed = Buffer.from(vector.seed, 'hex');
const pkcs8 = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]);
const privateKey = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' });
const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: vector.public_key }, format: 'jwk' });

/** The page's description, step by step, with nothing of the hub's own code: what a browser does. */
async function signLikeABrowser(statement: ApprovalStatement, privateSeed: Uint8Array): Promise<string> {
  const { approval_id, call_hash, decision, expires_at, hub, person, tool } = statement;
  const payload = new TextEncoder().encode(JSON.stringify({ approval_id, call_hash, decision, expires_at, hub, person, tool }));
  const header = [0x43, 0xa1, 0x01, 0x27];
  const context = [0x6a, ...new TextEncoder().encode('Signature1')];
  const domain = byteString(new TextEncoder().encode('atmosphere-edge approval v1'));
  const signature = await signAsync(Uint8Array.of(0x84, ...context, ...header, ...domain, ...byteString(payload)), privateSeed);
  return Buffer.from([0x84, ...header, 0xa0, ...byteString(payload), ...byteString(signature)]).toString('base64url');
}

function byteString(bytes: Uint8Array): readonly number[] {
  return bytes.length < 256 ? [0x58, bytes.length, ...bytes] : [0x59, bytes.length >> 8, bytes.length & 0xff, ...bytes];
}

describe('a signed decision', () => {
  test('has the signature of the published vector', async () => {
    expect(Buffer.from(await getPublicKeyAsync(seed)).toString('base64url')).toBe(vector.public_key);
    expect(await signLikeABrowser(vector.statement, seed)).toBe(vector.signature);
    expect(signStatement(vector.statement, privateKey)).toBe(vector.signature);
    expect(isSignedStatement(vector.signature, vector.statement, publicKey)).toBe(true);
  });

  test('of a browser is accepted for both decisions and both lengths of the payload', async () => {
    for (const decision of ['approve', 'deny'] as const) {
      const short = { ...vector.statement, decision, tool: 'a', expires_at: '', hub: '' };
      expect(isSignedStatement(await signLikeABrowser(short, seed), short, publicKey)).toBe(true);
      const long = { ...vector.statement, decision, tool: `matter:${'a'.repeat(150)}@1.0.0` };
      expect(isSignedStatement(await signLikeABrowser(long, seed), long, publicKey)).toBe(true);
    }
  });

  test('is not valid with any bit changed', () => {
    const message = Buffer.from(vector.signature, 'base64url');
    for (let bit = 0; bit < message.length * 8; bit += 7) {
      const changed = Buffer.from(message);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(isSignedStatement(changed.toString('base64url'), vector.statement, publicKey)).toBe(false);
    }
  });

  test('is not valid for another use, with a longer encoding, or as other text', async () => {
    const message = Buffer.from(vector.signature, 'base64url');
    const tagged = Buffer.concat([Buffer.from('d2', 'hex'), message]).toString('base64url');
    const padded = `${vector.signature}${'='.repeat((4 - (vector.signature.length % 4)) % 4)}`;
    for (const text of [
      tagged,
      padded,
      ` ${vector.signature}`,
      message.toString('base64'),
      message.toString('hex'),
      '',
      'A'.repeat(4_000),
    ]) {
      if (text !== vector.signature) expect(isSignedStatement(text, vector.statement, publicKey)).toBe(false);
    }
    const strange = { ...vector.statement, expires_at: '2026-01-01T00:10:00Z' };
    expect(isSignedStatement(vector.signature, strange, publicKey)).toBe(false);
  });
});
