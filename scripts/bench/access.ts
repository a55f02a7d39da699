/** What it costs to know who calls and what they may do, against one bare Ed25519 verification of as many bytes. */
import { randomBytes, sign, verify } from 'node:crypto';
import { GrantAuthorizer } from '../../src/auth/grant-authorizer.ts';
import { signChild, signRoot, tokenBytes, tokenText } from '../../src/auth/tokens/token-chain.ts';
import type { TokenClaims } from '../../src/auth/tokens/token-claims.ts';
import { TokenVerifier } from '../../src/auth/tokens/token-verifier.ts';
import { generatePrivateKey, hubIdOf, publicKeyOf, rawPublicKey } from '../../src/codec/public-key.ts';
import { NO_GROUPS } from '../../src/core/auth/permission.ts';
import { systemClock } from '../../src/core/clock.ts';
import { NO_REMOTE_GROUPS } from '../../test/no-device-facts.ts';
import type { BenchFigure } from './figure.ts';
import { median } from './statistics.ts';

/** Both sides alternate in short rounds, so that a busy machine slows both alike. */
const ROUNDS = 40;
const TOKENS_A_ROUND = 100;
/** A hub that runs for a while has compiled what it does for each call. */
const WARM_UP_ROUNDS = 20;
const NEW_BAR = 1.3;
const CACHED_BAR = 0.15;
const CHAIN_BAR_BYTES = 512;
const REQUIRED = ['device:control:living-room-light'];
const PERMISSIONS = [...REQUIRED, 'sensor:read:*'];

/** Microseconds of processor time for one token, over a round. */
interface Round {
  readonly rawUs: number;
  readonly newUs: number;
  readonly cachedUs: number;
}

/** Every round takes tokens that nobody saw before. */
export async function run(): Promise<BenchFigure[]> {
  const hub = new BenchHub();
  for (let round = 0; round < WARM_UP_ROUNDS; round++) hub.round();
  const rounds = Array.from({ length: ROUNDS }, () => hub.round());
  const ratio = (side: keyof Round) => median(rounds.map((round) => round[side] / round.rawUs));
  const against = { unit: '×', samples: ROUNDS * TOKENS_A_ROUND, vs: 'one node:crypto Ed25519 verification of as many bytes' };
  return [
    bounded('access.new_token', ratio('newUs'), { ...against, bar: NEW_BAR }),
    bounded('access.cached_token', ratio('cachedUs'), { ...against, bar: CACHED_BAR }),
    bounded('access.chain', tokenBytes(hub.childToken()).length, {
      unit: 'bytes',
      bar: CHAIN_BAR_BYTES,
      samples: 1,
      vs: 'root and one child',
    }),
    reported('access.raw_verify', median(rounds.map(({ rawUs }) => rawUs))),
    reported('access.new_token_time', median(rounds.map(({ newUs }) => newUs))),
    reported('access.cached_token_time', median(rounds.map(({ cachedUs }) => cachedUs))),
  ];
}

/** A hub that issues, verifies and authorises, as hub.ts puts it together. */
class BenchHub {
  readonly #key = generatePrivateKey();
  readonly #rawKey = rawPublicKey(this.#key);
  readonly #hubId = hubIdOf(this.#rawKey);
  readonly #verifier = new TokenVerifier(
    {
      issuers: Object.assign(new Map([[this.#hubId, this.#rawKey]]), { permissionsOf: () => undefined }),
      revocations: { firstRevoked: () => undefined },
      time: { now: systemClock.now, isTrusted: () => true },
      onIssuedAt: () => {},
    },
    { hubId: this.#hubId, meshId: () => undefined },
  );
  readonly #authorizer = new GrantAuthorizer({ groups: NO_GROUPS, elsewhere: NO_REMOTE_GROUPS, validity: this.#verifier });

  round(): Round {
    const tokens = Array.from({ length: TOKENS_A_ROUND }, () => tokenText(signRoot(this.#claims(), this.#key)));
    const signed = tokens.map((token) => ({ bytes: tokenBytes(token), signature: sign(null, tokenBytes(token), this.#key) }));
    const publicKey = publicKeyOf(this.#rawKey);
    return {
      rawUs: meanUs(signed, ({ bytes, signature }) => verify(null, bytes, publicKey, signature)),
      newUs: meanUs(tokens, (token) => this.#authorize(token)),
      cachedUs: meanUs(tokens, (token) => this.#authorize(token)),
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

/** Processor time, not the time of day: others use the machine too. */
function meanUs<Item>(items: readonly Item[], work: (item: Item) => unknown): number {
  const before = process.cpuUsage();
  for (const item of items) work(item);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / items.length;
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

function reported(name: string, value: number): BenchFigure {
  return { name, value, unit: 'µs', bar: null, ok: true, samples: ROUNDS * TOKENS_A_ROUND, vs: 'processor time for one token' };
}
