import { describe, expect, test } from 'vitest';
import { Heartbeat } from '../../../src/mesh/rpc/heartbeat.ts';
import { ManualClock } from '../../manual-clock.ts';

/** A link to a peer that answers while `isHeard`, on a machine that has what is sent while `hasArrived`. */
function linked(role: 'leads' | 'follows', hasArrived: boolean | undefined) {
  const clock = new ManualClock();
  const lab = { clock, hasArrived, isHeard: true, pings: 0, isSilent: false, heartbeat: undefined as Heartbeat | undefined };
  const heartbeat = new Heartbeat({
    clock,
    role,
    ping: (number) => {
      lab.pings += 1;
      if (!lab.isHeard) return;
      heartbeat.onReceived();
      heartbeat.ponged(number);
    },
    onSilence: () => {
      lab.isSilent = true;
    },
    hasArrived: hasArrived === undefined ? undefined : () => lab.hasArrived,
  });
  heartbeat.start();
  return { lab, heartbeat };
}

describe('a heartbeat where the kernel tells what has arrived', () => {
  test('asks every 4 s, and not while something else is heard', () => {
    const { lab, heartbeat } = linked('leads', true);
    lab.clock.advance(40_000);
    expect(lab.pings).toBe(11);
    for (let second = 0; second < 20; second++) {
      heartbeat.onReceived();
      lab.clock.advance(1_000);
    }
    expect(lab.pings).toBeLessThanOrEqual(12);
  });

  test.each(['leads', 'follows'] as const)('ends within 9 s when nothing gets through: the side that %s', (role) => {
    const { lab } = linked(role, true);
    lab.clock.advance(12_000);
    lab.isHeard = false;
    lab.hasArrived = false;
    lab.clock.advance(9_000);
    expect(lab.isSilent).toBe(true);
  });

  test.each([0, 1_000, 2_000, 3_000, 3_999])('forgives a peer that is stopped for 8 s, %i ms after its last word', (sinceMs) => {
    const { lab, heartbeat } = linked('leads', true);
    lab.clock.advance(4_000 + sinceMs);
    lab.isHeard = false;
    lab.clock.advance(8_000);
    expect(lab.isSilent).toBe(false);
    lab.isHeard = true;
    heartbeat.onReceived();
    lab.clock.advance(20_000);
    expect(lab.isSilent).toBe(false);
  });

  test('ends within 13 s when the machine lives and the hub says nothing more', () => {
    const { lab } = linked('leads', true);
    lab.isHeard = false;
    lab.clock.advance(12_900);
    expect(lab.isSilent).toBe(false);
    lab.clock.advance(100);
    expect(lab.isSilent).toBe(true);
  });
});

test('where nobody tells, the link ends within 10 s of silence', () => {
  const { lab } = linked('follows', undefined);
  lab.clock.advance(5_000);
  lab.isHeard = false;
  lab.clock.advance(9_750);
  expect(lab.isSilent).toBe(true);
});
