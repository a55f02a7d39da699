import { createPrivateKey } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { AtmoError } from '../../../src/core/errors.ts';
import { createLogger } from '../../../src/core/logger.ts';
import { AcmeCertificate, issuedCertificate } from '../../../src/http/tls/acme-certificate.ts';
import type { AcmeFetch } from '../../../src/http/tls/acme-session.ts';
import { makeAuthority, makeServerCertificate } from '../../../src/http/tls/x509.ts';
import { ManualClock } from '../../manual-clock.ts';

const START_MS = Date.UTC(2026, 5, 1);
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const NAME = 'hub.example.org';
const DIRECTORY = 'https://acme.example.org/directory';

const away: AcmeFetch = async () => {
  throw new AtmoError('SERVICE_UNAVAILABLE', 'the directory cannot be reached (ECONNREFUSED)');
};

/** A certificate with its key in one text, as the hub keeps it. It lasts for 90 days from the start of a test. */
function keptCertificate(names: readonly string[] = [NAME]): string {
  const validity = { fromMs: START_MS, untilMs: START_MS + 90 * DAY_MS };
  const ca = makeAuthority('an authority', names, validity);
  const made = makeServerCertificate({ name: 'an authority', key: createPrivateKey(ca.key) }, names, validity);
  return `directory: ${DIRECTORY}\n${made.key}${made.certificate}${ca.certificate}`;
}

let open: AcmeCertificate | undefined;
afterEach(() => open?.[Symbol.asyncDispose]());

async function started({
  kept,
  fetch = away,
  aheadMs = 0,
}: {
  readonly kept?: string;
  readonly fetch?: AcmeFetch;
  readonly aheadMs?: number;
}) {
  const clock = new ManualClock(START_MS);
  let wallAheadMs = aheadMs;
  const stored = new Map<string, string>(kept === undefined ? [] : [['acme.pem', kept]]);
  const tries: number[] = [];
  const lines: string[] = [];
  const acme = new AcmeCertificate(
    {
      clock,
      time: { now: () => clock.now() + wallAheadMs },
      logger: createLogger('info', (line) => lines.push(line)),
      files: { read: (name) => stored.get(name), write: (name, text) => stored.set(name, text) },
      onChange: () => {},
    },
    {
      config: {
        names: [NAME],
        directory: DIRECTORY,
        agreeToTerms: true,
        dnsCommand: ['true'],
        dnsWaitSeconds: 0,
      },
      fetch: (request) => {
        tries.push(clock.now() - START_MS);
        return fetch(request);
      },
      dns: { add: async () => {}, remove: async () => {} },
    },
  );
  open = acme;
  await acme.start();
  /** Moves time on in steps, and lets each try come to its end. */
  const pass = async (ms: number, stepMs = MINUTE_MS) => {
    for (let passed = 0; passed < ms; passed += stepMs) {
      clock.advance(Math.min(stepMs, ms - passed));
      await nextTurn();
    }
  };
  const setClock = () => {
    wallAheadMs = 0;
  };
  return { acme, tries, pass, stored, lines, setClock };
}

describe('a hub without a certificate for its name', () => {
  test('asks the authority soon after its start, and again after a quarter of an hour, half an hour, an hour and so on', async () => {
    const { acme, tries, pass } = await started({});
    await pass(10_000);
    expect(tries).toEqual([10_000]);
    expect(acme.certificate).toBeUndefined();
    expect(acme.problem).toBe('The hub got no certificate for hub.example.org: the directory cannot be reached (ECONNREFUSED)');
    await pass(4 * HOUR_MS);
    const gaps = tries.slice(1).map((ms, index) => Math.floor((ms - (tries[index] ?? 0)) / MINUTE_MS));
    // The hub looks once a minute, so that up to a minute is added.
    expect(gaps).toEqual([15, 31, 61, 121]);
  });

  test('never waits longer than half a day', async () => {
    const { tries, pass } = await started({});
    await pass(10_000);
    await pass(4 * DAY_MS, HOUR_MS);
    expect((tries.at(-1) ?? 0) - (tries.at(-2) ?? 0)).toBeLessThanOrEqual(13 * HOUR_MS);
  });

  test('leaves the authority alone for as long as it asks for', async () => {
    const problem = { type: 'urn:ietf:params:acme:error:rateLimited', detail: 'too many certificates' };
    const fetch: AcmeFetch = async () => ({
      status: 429,
      headers: new Headers({ 'retry-after': String((30 * HOUR_MS) / 1_000) }),
      body: Buffer.from(JSON.stringify(problem)),
    });
    const { acme, tries, pass } = await started({ fetch });
    await pass(10_000);
    expect(acme.problem).toContain('too many certificates');
    await pass(29 * HOUR_MS, HOUR_MS);
    expect(tries).toHaveLength(1);
    await pass(2 * HOUR_MS, HOUR_MS);
    expect(tries).toHaveLength(2);
  });
});

describe('a hub with a certificate for its name', () => {
  test('asks for nothing while more than a third of its time is left, and then asks', async () => {
    const { acme, tries, pass } = await started({ kept: keptCertificate() });
    await pass(10_000);
    await pass(60 * DAY_MS - 2 * MINUTE_MS, DAY_MS);
    expect([tries.length, acme.problem]).toEqual([0, undefined]);
    await pass(3 * MINUTE_MS);
    expect(tries).toHaveLength(1);
    expect(acme.certificate?.names).toEqual([NAME]);
    expect(acme.problem).toContain('could not be renewed');
  });

  test('asks for another one at once if it is for other names, and serves the old one until then', async () => {
    const { acme, tries, pass } = await started({ kept: keptCertificate(['old.example.org']) });
    await pass(10_000);
    expect(tries).toHaveLength(1);
    expect(acme.certificate?.names).toEqual(['old.example.org']);
  });

  test('has none if the key in the file is that of another certificate', async () => {
    const [key = ''] = keptCertificate().split('-----BEGIN CERTIFICATE', 1);
    const [, ...certificates] = keptCertificate().split('-----BEGIN CERTIFICATE');
    const { acme } = await started({ kept: [key, ...certificates].join('-----BEGIN CERTIFICATE') });
    expect(acme.certificate).toBeUndefined();
  });

  test('asks for another one at once if it is of another authority, such as one for trials', async () => {
    const { tries, pass } = await started({ kept: keptCertificate().replace('acme.', 'acme-staging.') });
    await pass(10_000);
    expect(tries).toHaveLength(1);
  });

  test('has none if TLS does not accept the chain in the file', async () => {
    const { acme } = await started({ kept: `${keptCertificate()}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n` });
    expect(acme.certificate).toBeUndefined();
  });

  test('tries again after a quarter of an hour though the clock of the machine was years ahead at the first try', async () => {
    const { tries, pass, setClock } = await started({ aheadMs: 9 * 365 * DAY_MS });
    await pass(10_000);
    setClock();
    await pass(16 * MINUTE_MS);
    expect(tries).toHaveLength(2);
  });

  test('gives TLS the key and the whole chain, each as it stands in the file', async () => {
    const kept = keptCertificate();
    const { acme } = await started({ kept });
    expect(`directory: ${DIRECTORY}\n${acme.certificate?.key}${acme.certificate?.chain}`).toBe(kept);
    expect(acme.certificate?.chain.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
    expect(acme.certificate?.key).not.toContain('CERTIFICATE');
  });
});

test('a stop of the hub during a try is no failure of the authority', async () => {
  const fetch: AcmeFetch = ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  const { acme, pass, lines } = await started({ fetch });
  await pass(10_000);
  await acme[Symbol.asyncDispose]();
  expect([acme.problem, lines]).toEqual([undefined, []]);
});

describe('a certificate that an authority issued', () => {
  const order = { names: [NAME], nowMs: START_MS + DAY_MS };

  test('is taken for the names of the order', () => {
    expect(issuedCertificate(keptCertificate(), order)).toMatchObject({ names: [NAME], directory: DIRECTORY });
  });

  test.each([
    ['other names', keptCertificate(['other.example.org'])],
    ['a further name, which the addresses of the hub would have', keptCertificate(['evil.example', NAME])],
    ['a chain that TLS does not accept', `${keptCertificate()}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`],
    ['no key', keptCertificate().replace(/-----BEGIN PRIVATE KEY-----[^-]*-----END PRIVATE KEY-----\n/, '')],
  ])('is refused with %s', (_, text) => {
    expect(() => issuedCertificate(text, order)).toThrow(expect.objectContaining({ code: 'SERVICE_REFUSED' }));
  });

  test.each([
    ['over', START_MS + 91 * DAY_MS],
    ['not begun', START_MS - DAY_MS],
  ])('is refused when its time is %s', (_, nowMs) => {
    expect(() => issuedCertificate(keptCertificate(), { names: [NAME], nowMs })).toThrow(/is the clock of the hub right/);
  });
});
