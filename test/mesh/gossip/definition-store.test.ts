import { expect, test } from 'vitest';
import type { HubId } from '../../../src/core/ids.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { BlobStore, blobOf } from '../../../src/mesh/gossip/blob-store.ts';
import { DefinitionStore, offeredDefinition } from '../../../src/mesh/gossip/definition-store.ts';
import { DropCounter } from '../../../src/mesh/gossip/gossip-limits.ts';
import { SchemaValidator } from '../../../src/tools/schema/schema-validator.ts';
import { makeTool } from '../../calls/pipeline-fixture.ts';
import { ManualClock } from '../../manual-clock.ts';

const [large, small] = ['hub-1111111111111111', 'hub-2222222222222222'] as HubId[] as [HubId, HubId];

/** A definition of about 40 KiB. */
function largeTool(index: number) {
  const choices = Array.from({ length: 400 }, (_, choice) => `${'a'.repeat(90)}-${index}-${choice}`);
  return makeTool({ name: `large_${index}`, parameters: { type: 'object', properties: { choice: { enum: choices } } } });
}

test('a hub with large definitions waits for its next turn, and no other hub waits for it', () => {
  const [clock, blobs] = [new ManualClock(), new BlobStore()];
  let turns = 0;
  const onNext = () => void turns++;
  const validator = new SchemaValidator();
  const book = new DefinitionStore({ blobs, validator, drops: new DropCounter(), logger: silentLogger, turns: { clock, onNext } });
  const tools = [...Array.from({ length: 6 }, (_, index) => largeTool(index)), makeTool({ name: 'small' })];
  for (const tool of tools) blobs.add(offeredDefinition(tool).blob);
  const read = (hub: HubId) => tools.filter((tool) => book.get(offeredDefinition(tool).hash, tool.id, hub)).length;
  // Each is longer than what one hub has of a turn: the first is read all the same.
  expect(read(large)).toBe(1);
  expect(read(large)).toBe(1);
  const [last] = tools.slice(-1);
  expect(last && book.get(offeredDefinition(last).hash, last.id, small)?.definition.name).toBe('small');
  expect(turns).toBe(0);
  for (let turn = 1; turn < 6; turn++) {
    clock.advance(20);
    expect(turns).toBe(turn);
    expect(read(large)).toBe(turn === 5 ? tools.length : turn + 2);
  }
  clock.advance(1_000);
  expect(turns).toBe(5);
});

test('a hub that changes large definitions all the time is read at a bounded rate', () => {
  const [clock, blobs] = [new ManualClock(), new BlobStore({ maxBytes: 64 * 1_048_576 })];
  const validator = new SchemaValidator();
  const turns = { clock, onNext: () => {} };
  const book = new DefinitionStore({ blobs, validator, drops: new DropCounter(), logger: silentLogger, turns });
  const { blob } = offeredDefinition(largeTool(0));
  let [changes, bytes] = [0, 0];
  const change = () => {
    const changed = blobOf(Buffer.concat([blob.bytes, Buffer.from(' '.repeat(20_000 + changes++))]));
    blobs.add(changed);
    book.get(changed.sha256, 'core:large_0@1.0.0', large);
    if (book.isRead(changed.sha256)) bytes += changed.bytes.length;
  };
  for (; clock.monotonic() < new ManualClock().monotonic() + 10_000; clock.advance(20)) change();
  expect(bytes).toBeGreaterThan(4 * 1_048_576);
  expect(bytes).toBeLessThan(4 * 1_048_576 + 11 * 655_000);
});

test('a definition that was read after its set of used definitions is deleted all the same', () => {
  const blobs = new BlobStore();
  const book = new DefinitionStore({ blobs, validator: new SchemaValidator(), drops: new DropCounter(), logger: silentLogger });
  const tool = makeTool({ name: 'small' });
  const { blob, hash } = offeredDefinition(tool);
  const used = new Set(['0'.repeat(16)]);
  book.retain(used);
  blobs.add(blob);
  expect(book.get(hash, tool.id, small)).toBeDefined();
  book.retain(used);
  expect(book.isRead(hash)).toBe(false);
});
