/** What it costs to know who calls and what they may do, against one bare Ed25519 verification of as many bytes. */
import { randomBytes, sign, verify } from 'node:crypto';
import { generatePrivateKey, publicKeyOf, rawPublicKey } from '../../src/access/ed25519-key.ts';
import { GrantAuthorizer } from '../../src/access/grant-authorizer.ts';
import { hubIdOf } from '../../src/access/hub-key.ts';
import { signChild, signRoot } from '../../src/access/token-chain.ts';
import type { TokenClaims } from '../../src/access/token-claims.ts';
import { tokenBytes, tokenText } from '../../src/access/token-text.ts';
import { TokenVerifier } from '../../src/access/token-verifier.ts';
import { systemClock } from '../../src/core/clock.ts';
import { NO_GROUPS } from '../../src/core/permission.ts';
import type { BenchFigure } from './figure.ts';
import { median, quantile } from './statistics.ts';

const TOKENS = 2000;
/** A hub that runs for a while has compiled what it does for each call. */
const WARM_UP_TOKENS = 4000;
/** On a busy machine most samples hold the work of others too; on a quiet one all shares say nearly the same. */
const QUIET_SHARE = 0.05;
const QUIET = { unit: 'µs', vs: `${QUIET_SHARE * 100} % of the samples are faster` } as const;
const NEW_BAR = 1.3;
const CACHED_BAR = 0.15;
const CHAIN_BAR_BYTES = 512;
const REQUIRED = ['device:control:living-room-light'];
const PERMISSIONS = [...REQUIRED, 'sensor:read:*'];

/** Microseconds for one token. */
interface Sample {
  readonly rawUs: number;
  readonly newUs: number;
  readonly cachedUs: number;
}

/** Each sample takes a token that nobody saw before; both sides alternate, so that a busy machine slows both alike. */
export async function run(): Promise<BenchFigure[]> {
  const hub = new BenchHub();
  for (let token = 0; token < WARM_UP_TOKENS; token++) hub.sample();
  const taken = Array.from({ length: TOKENS }, () => hub.sample());
  const of = (side: keyof Sample) => taken.map((sample) => sample[side]);
  const rawUs = undisturbed(of('rawUs'));
  const newUs = undisturbed(of('newUs'));
  const cachedUs = undisturbed(of('cachedUs'));
  const against = { unit: '×', samples: TOKENS, vs: 'one node:crypto Ed25519 verification of as many bytes' };
  return [
    bounded('access.new_token', newUs / rawUs, { ...against, bar: NEW_BAR }),
    bounded('access.cached_token', cachedUs / rawUs, { ...against, bar: CACHED_BAR }),
    bounded('access.chain', tokenBytes(hub.childToken()).length, {
      unit: 'bytes',
      bar: CHAIN_BAR_BYTES,
      samples: 1,
      vs: 'root and one child',
    }),
    reported('access.new_token_median', median(of('newUs')) / median(of('rawUs')), {
      unit: '×',
      vs: 'the same, as busy as the machine is',
    }),
    reported('access.raw_verify', rawUs, QUIET),
    reported('access.new_token_time', newUs, QUIET),
    reported('access.cached_token_time', cachedUs, QUIET),
  ];
}

/** A hub that issues, verifies and authorises, as hub.ts puts it together. */
class BenchHub {
  readonly #key = generatePrivateKey();
  readonly #rawKey = rawPublicKey(this.#key);
  readonly #hubId = hubIdOf(this.#rawKey);
  readonly #verifier = new TokenVerifier(
    {
      issuers: new Map([[this.#hubId, this.#rawKey]]),
      revocations: { firstRevoked: () => undefined },
      time: { now: systemClock.now, isTrusted: () => true },
    },
    { hubId: this.#hubId },
  );
  readonly #authorizer = new GrantAuthorizer({ groups: NO_GROUPS, validity: this.#verifier });

  sample(): Sample {
    const token = tokenText(signRoot(this.#claims(), this.#key));
    const bytes = tokenBytes(token);
    const signature = sign(null, bytes, this.#key);
    const publicKey = publicKeyOf(this.#rawKey);
    return {
      rawUs: timedUs(() => verify(null, bytes, publicKey, signature)),
      newUs: timedUs(() => this.#authorize(token)),
      cachedUs: timedUs(() => this.#authorize(token)),
    };
  }

  /** An agent's token for itself and one more, narrower, as `spawn_agent` makes it. */
  childToken(): string {
    const parent = signRoot(this.#claims(), this.#key);
    const claims = { ...this.#claims(), issuer: 'light-agent', subject: 'light-agent/lamp', permissions: REQUIRED };
    return tokenText(signChild(parent, claims, this.#key));
  }

  #authorize(token: string): boolean {
    return this.#authorizer.authorize(this.#verifier.verify(token).principal, REQUIRED).allowed;
  }

  #claims(): TokenClaims {
    const issuedAt = Math.floor(systemClock.now() / 1000);
    return {
      issuer: this.#hubId,
      subject: 'light-agent',
      issuedAt,
      expiresAt: issuedAt + 86_400,
      id: randomBytes(16).toString('hex'),
      key: this.#rawKey,
      permissions: PERMISSIONS,
      rateLimit: { calls: 60, seconds: 60 },
    };
  }
}

/** What the work takes while nothing else wants the processor, by the same measure on both sides. */
function undisturbed(samplesUs: readonly number[]): number {
  return quantile(samplesUs, QUIET_SHARE);
}

function timedUs(work: () => unknown): number {
  const startMs = performance.now();
  work();
  return (performance.now() - startMs) * 1000;
}

interface Bound {
  readonly unit: string;
  readonly bar: number;
  readonly samples: number;
  readonly vs: string;
}

function bounded(name: string, value: number, bound: Bound): BenchFigure {
  return { name, value, ...bound, ok: value <= bound.bar };
}

function reported(name: string, value: number, { unit, vs }: Pick<Bound, 'unit' | 'vs'>): BenchFigure {
  return { name, value, unit, bar: null, ok: true, samples: TOKENS, vs };
}
