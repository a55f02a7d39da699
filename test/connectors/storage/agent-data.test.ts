import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { AgentData } from '../../../src/connectors/storage/storage-tools.ts';
import { EventBus } from '../../../src/core/events.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { StateStore } from '../../../src/storage/state-store.ts';
import { agent } from '../../calls/pipeline-fixture.ts';
import { ManualClock } from '../../manual-clock.ts';
import { journalParts } from '../../storage/storage-services.ts';

test('a value of an agent survives a restart with its expiry, under the longest key and id', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'agent-data-'));
  const clock = new ManualClock();
  const someone = { ...agent(), id: `${'a'.repeat(64)}/${'b'.repeat(64)}/${'c'.repeat(64)}` };
  const key = 'k'.repeat(256);
  const withStore = async <T>(work: (data: AgentData) => T): Promise<T> => {
    const parts = { clock, logger: silentLogger, events: new EventBus('hub:test', clock), ...journalParts(directory) };
    await using store = new StateStore(parts, { directory, snapshotDirectory: join(directory, 'snapshots') });
    await store.start();
    return work(new AgentData({ store, clock }, { maxKeys: 10, maxBytes: 10_000 }));
  };
  try {
    await withStore((data) => data.put(someone, key, { value: { n: 1 }, ttlMs: 1_000, isOnlyNew: false }));
    expect(await withStore((data) => data.get(someone, key))).toMatchObject({ key, value: { n: 1 }, expiresAtMs: clock.now() + 1_000 });
    clock.advance(1_000);
    expect(await withStore((data) => [data.get(someone, key), data.list(someone, '')])).toEqual([undefined, []]);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
