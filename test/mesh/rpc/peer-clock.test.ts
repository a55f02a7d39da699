import { describe, expect, test } from 'vitest';
import { PeerClock } from '../../../src/mesh/rpc/peer-clock.ts';
import { seededRandom } from '../../seeded-random.ts';
import { Draw } from '../../simulation/draw.ts';

const PINGS = 200;
/** Each clock is slewed by at most 500 ppm. */
const SLEW = 0.000_5;

/** A hub and a peer of which each clock has a rate and a zero point of its own. `passMs` lets true time pass. */
class TwoClocks {
  hereMs: number;
  peerMs: number;
  readonly clock = new PeerClock({ monotonic: () => this.hereMs });
  readonly #rates: readonly [number, number];

  constructor(draw: Draw) {
    this.hereMs = draw.between(0, 1e9);
    this.peerMs = draw.between(0, 1e9);
    this.#rates = [1 + draw.between(-SLEW, SLEW), 1 + draw.between(-SLEW, SLEW)];
  }

  pass(ms: number): void {
    this.hereMs += ms * this.#rates[0];
    this.peerMs += ms * this.#rates[1];
  }

  /** The peer sends a ping that takes `delayMs`. */
  ping(delayMs: number): void {
    const number = Math.floor(this.peerMs);
    this.pass(delayMs);
    this.clock.pinged(number);
  }

  /** Milliseconds by which the time that this hub takes for certain is behind the peer's clock. */
  get behindMs(): number {
    return this.peerMs - (this.clock.earliestMs ?? Number.NaN);
  }
}

describe('the clock of a peer', () => {
  test('is unknown before the first ping', async () => {
    const { clock } = new TwoClocks(new Draw(seededRandom(1)));
    expect(clock.earliestMs).toBeUndefined();
    const known = clock.untilKnown(new AbortController().signal);
    clock.pinged(7);
    await known;
    expect(clock.earliestMs).toBeDefined();
    await clock.untilKnown(AbortSignal.abort());
  });

  test('is waited for until the caller leaves, of whom nothing stays, or the link ends', async () => {
    const { clock } = new TwoClocks(new Draw(seededRandom(1)));
    const left = new AbortController();
    const waits = Array.from({ length: 50 }, () => clock.untilKnown(left.signal));
    const others = new AbortController();
    const untilEnd = clock.untilKnown(others.signal);
    left.abort(new RangeError('left'));
    expect((await Promise.allSettled(waits)).every(({ status }) => status === 'rejected')).toBe(true);
    await expect(clock.untilKnown(left.signal)).rejects.toThrow('left');
    clock.end();
    await untilEnd;
    await clock.untilKnown(left.signal);
  });

  test.each(Array.from({ length: 20 }, (_, seed) => seed))(
    'is never taken to be ahead of what it shows, whatever pings take: seed %i',
    (seed) => {
      const draw = new Draw(seededRandom(seed));
      const clocks = new TwoClocks(draw);
      for (let count = 0; count < PINGS; count++) {
        const delayMs = draw.chance(0.2) ? draw.between(100, 5_000) : draw.between(0.1, draw.pick([2, 50, 800]));
        clocks.ping(delayMs);
        const restMs = draw.between(0, 100_000);
        for (let part = 0; part < 5; part++) {
          expect(clocks.behindMs).toBeGreaterThanOrEqual(0);
          // It is at least as good as the last ping alone: its delay, the rounding of both times, and the drift since.
          expect(clocks.behindMs).toBeLessThan(delayMs + 2 + 0.002_1 * restMs);
          clocks.pass(restMs / 5);
        }
      }
    },
  );

  test('is known as well as the quickest of the pings shows it', () => {
    const clocks = new TwoClocks(new Draw(seededRandom(7)));
    for (const delayMs of [900, 3, 700, 400]) clocks.ping(delayMs);
    expect(clocks.behindMs).toBeLessThan(3 + 2 + 3);
  });

  test('is known again 10 minutes after it stood still unnoticed, as in a paused virtual machine', () => {
    const clocks = new TwoClocks(new Draw(seededRandom(7)));
    clocks.ping(1);
    clocks.peerMs -= 8_000;
    for (let second = 0; second <= 600; second += 100) {
      clocks.pass(100_000);
      clocks.ping(1);
    }
    expect(clocks.behindMs).toBeGreaterThanOrEqual(0);
    expect(clocks.behindMs).toBeLessThan(4);
  });
});
