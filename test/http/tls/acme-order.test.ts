import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { type DnsRecord, orderCertificate } from '../../../src/http/tls/acme-order.ts';
import { type AcmeFetch, AcmeSession } from '../../../src/http/tls/acme-session.ts';
import { ManualClock } from '../../manual-clock.ts';

const BASE = 'https://acme.example.org';
const NAME = 'hub.example.org';
const DIRECTORY = { newNonce: `${BASE}/nonce`, newAccount: `${BASE}/account`, newOrder: `${BASE}/order` };

/** A clock on which nobody waits. */
const hurried = Object.assign(new ManualClock(0), {
  after(_delayMs: number, callback: () => void) {
    callback();
    return () => {};
  },
});

/** Orders a certificate from an authority that wants these names to be proved; returns the records that were written. */
async function recordsFor(asked: readonly string[]) {
  const answers: Readonly<Record<string, object>> = {
    '/directory': DIRECTORY,
    '/order': { status: 'pending', authorizations: asked.map((_, index) => `${BASE}/authorization/${index}`) },
  };
  const fetch: AcmeFetch = async ({ url }) => {
    const path = url.slice(BASE.length);
    const value = asked[Number(path.split('/').at(-1))];
    const challenges = [{ type: 'dns-01', token: 'token', url: `${BASE}/challenge` }];
    const body = answers[path] ?? (value === undefined ? {} : { status: 'pending', identifier: { type: 'dns', value }, challenges });
    const headers = new Headers({ 'replay-nonce': 'n', location: `${BASE}/order/1` });
    return { status: path === '/challenge' ? 500 : 200, headers, body: Buffer.from(JSON.stringify(body)) };
  };
  const { signal } = new AbortController();
  const { privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const session = await AcmeSession.open(
    { fetch, key, time: { now: () => 0 }, signal },
    { directory: `${BASE}/directory`, email: undefined },
  );
  const added: DnsRecord[] = [];
  const dns = { add: async (record: DnsRecord) => void added.push(record), remove: async () => {} };
  const parts = { session, dns, clock: hurried, signal, onRecordLeft: () => {} };
  const failure = await orderCertificate(parts, { names: [NAME], propagationMs: 0 }).catch((thrown: unknown) => thrown);
  return { added: added.map(({ name }) => name), failure };
}

describe('an order of a certificate', () => {
  test('proves the ordered name, in the spelling of the order', async () => {
    expect((await recordsFor(['Hub.Example.org'])).added).toEqual([`_acme-challenge.${NAME}`]);
  });

  test.each([
    ['another name', ['other.example.org']],
    ['a name with more lines, which a program for DNS would read as commands', [`${NAME}\nupdate add www.example.org 60 TXT x`]],
    ['more proofs than there are names', [NAME, NAME]],
  ])('writes no record for an authority that wants %s', async (_, asked) => {
    const { added, failure } = await recordsFor(asked);
    expect(added).toEqual([]);
    expect(failure).toMatchObject({ code: 'SERVICE_REFUSED', message: expect.not.stringContaining('\n') });
  });
});
