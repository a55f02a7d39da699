import { describe, expect, test } from 'vitest';
import { inviteText } from '../../../src/codec/messages/membership.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { findHubs } from '../../../src/mesh/discovery/hub-discovery.ts';
import { settled } from '../../calls/pipeline-fixture.ts';
import { ManualClock } from '../../manual-clock.ts';

const invite = inviteText({
  rootKey: Buffer.alloc(32, 1).toString('base64url'),
  id: '0011223344556677',
  secret: new Uint8Array(16),
  expiresAt: 2_000_000_000,
  addresses: [],
});
/** An interface that no machine has: nothing is sent. */
const interfaces = ['none-of-these'];

describe('looking for the hubs of an invite', () => {
  test('takes two seconds', async () => {
    const clock = new ManualClock();
    let found: unknown;
    const { signal } = new AbortController();
    const looking = findHubs({ clock, logger: silentLogger, signal }, { invite, interfaces }).then((hubs) => {
      found = hubs;
    });
    await settled();
    clock.advance(1_999);
    await settled();
    expect(found).toBeUndefined();
    clock.advance(1);
    await looking;
    expect(found).toEqual([]);
  });

  test('ends at once for a caller that gave up before it began', async () => {
    const signal = AbortSignal.abort(new Error('given up'));
    const looking = findHubs({ clock: new ManualClock(), logger: silentLogger, signal }, { invite, interfaces });
    await expect(looking).rejects.toThrow('given up');
  });
});
