import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { type AcmeFetch, AcmeSession } from '../../../src/http/tls/acme-session.ts';

const BASE = 'https://acme.example.org';
const DIRECTORY = { newNonce: `${BASE}/nonce`, newAccount: `${BASE}/account`, newOrder: `${BASE}/order` };
const { privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-256' });

interface Sent {
  readonly url: string;
  readonly head: { readonly nonce: string; readonly url: string; readonly kid?: string; readonly jwk?: object };
  readonly payload: string;
  readonly isSigned: boolean;
}

/** An authority that checks signatures and gives each nonce once. `answers` are what it says to requests other than the usual ones. */
function authority(answers: Readonly<Record<string, () => { status: number; body?: object; headers?: Record<string, string> }>> = {}) {
  const sent: Sent[] = [];
  let nonces = 0;
  const fetch: AcmeFetch = async ({ url, body }) => {
    if (body) sent.push(opened(url, body));
    const usual = url === `${BASE}/directory` ? { status: 200, body: DIRECTORY } : { status: 201, headers: { location: `${BASE}/me` } };
    const { status, body: said = {}, headers = {} } = answers[url.replace(BASE, '')]?.() ?? usual;
    return { status, headers: new Headers({ 'replay-nonce': `n${++nonces}`, ...headers }), body: Buffer.from(JSON.stringify(said)) };
  };
  const signal = new AbortController().signal;
  const openSession = () =>
    AcmeSession.open({ fetch, key, time: { now: () => 0 }, signal }, { directory: `${BASE}/directory`, email: 'me@example.org' });
  return { sent, openSession };
}

function opened(url: string, body: Uint8Array): Sent {
  const { protected: head, payload, signature } = JSON.parse(Buffer.from(body).toString()) as Record<string, string>;
  const checked = { key: createPublicKey(key), dsaEncoding: 'ieee-p1363' } as const;
  const isSigned = verify('sha256', Buffer.from(`${head}.${payload}`), checked, Buffer.from(signature ?? '', 'base64url'));
  const text = (part: string | undefined) => Buffer.from(part ?? '', 'base64url').toString();
  return { url, head: JSON.parse(text(head)), payload: text(payload), isSigned };
}

describe('requests to a certificate authority', () => {
  test('are signed, name their address, and use each nonce once', async () => {
    const { sent, openSession } = authority();
    const session = await openSession();
    await session.post(session.resource('newOrder'), { identifiers: [] });
    await session.post(`${BASE}/order/1`);
    expect(sent.map(({ isSigned, url, head }) => [isSigned, head.url === url])).toEqual([
      [true, true],
      [true, true],
      [true, true],
    ]);
    expect(new Set(sent.map(({ head }) => head.nonce)).size).toBe(3);
    expect(JSON.parse(sent[0]?.payload ?? '')).toEqual({ termsOfServiceAgreed: true, contact: ['mailto:me@example.org'] });
    expect([sent[0]?.head.jwk, sent[0]?.head.kid]).toEqual([expect.objectContaining({ kty: 'EC', crv: 'P-256' }), undefined]);
    expect([sent[1]?.head.kid, sent[1]?.head.jwk]).toEqual([`${BASE}/me`, undefined]);
    expect(sent[2]?.payload).toBe('');
  });

  test('are repeated with another nonce if the authority refuses one', async () => {
    let refusals = 3;
    const { sent, openSession } = authority({
      '/order': () => (refusals-- > 0 ? { status: 400, body: { type: 'urn:ietf:params:acme:error:badNonce' } } : { status: 201 }),
    });
    const session = await openSession();
    await session.post(session.resource('newOrder'), {});
    expect(sent.filter(({ url }) => url.endsWith('/order'))).toHaveLength(4);
  });

  test('end when the authority refuses every nonce', async () => {
    const { sent, openSession } = authority({ '/order': () => ({ status: 400, body: { type: 'urn:ietf:params:acme:error:badNonce' } }) });
    const session = await openSession();
    await expect(session.post(session.resource('newOrder'), {})).rejects.toMatchObject({ code: 'SERVICE_REFUSED' });
    expect(sent.filter(({ url }) => url.endsWith('/order'))).toHaveLength(8);
  });

  test('that are refused tell what the authority said, without characters that nobody sees', async () => {
    const problem = {
      type: 'urn:ietf:params:acme:error:rejectedIdentifier',
      detail: 'Some names\u0007 are refused',
      subproblems: [{ detail: 'hub.example.org is forbidden' }],
    };
    const { openSession } = authority({ '/order': () => ({ status: 403, body: problem, headers: { 'retry-after': '120' } }) });
    const session = await openSession();
    await expect(session.post(session.resource('newOrder'), {})).rejects.toMatchObject({
      code: 'SERVICE_REFUSED',
      message: 'The authority answered 403: Some names are refused; hub.example.org is forbidden',
      details: { status: 403, reason: 'rejectedIdentifier', retry_after_ms: 120_000 },
    });
  });

  test('are not sent to what is no ACME directory', async () => {
    const { sent, openSession } = authority({ '/directory': () => ({ status: 200, body: { hello: 'world' } }) });
    await expect(openSession()).rejects.toMatchObject({ code: 'SERVICE_REFUSED', message: expect.stringContaining('no ACME directory') });
    expect(sent).toEqual([]);
  });
});
