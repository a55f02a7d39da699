import { expect, test } from 'vitest';
import type { HubId } from '../../../../src/core/ids.ts';
import { silentLogger } from '../../../../src/core/logger.ts';
import { ManualClock } from '../../../../src/core/time/clock.ts';
import { offeredDefinition } from '../../../../src/mesh/gossip/announce/offered-definition.ts';
import { DefinitionBook } from '../../../../src/mesh/gossip/catalogue/definition-book.ts';
import { DropCounter } from '../../../../src/mesh/gossip/drop-counter.ts';
import { BlobStore } from '../../../../src/mesh/gossip/exchange/blob-store.ts';
import { SchemaValidator } from '../../../../src/tools/schema/schema-validator.ts';
import { makeTool } from '../../../tools/tool-room.ts';

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
  const book = new DefinitionBook({ blobs, validator, drops: new DropCounter(), logger: silentLogger, turns: { clock, onNext } });
  const tools = [...Array.from({ length: 6 }, (_, index) => largeTool(index)), makeTool({ name: 'small' })];
  for (const { definition } of tools) blobs.add(offeredDefinition(definition).blob);
  const read = (hub: HubId) => tools.filter(({ id, definition }) => book.get(offeredDefinition(definition).hash, id, hub)).length;
  const first = read(large);
  expect(first).toBeGreaterThan(1);
  expect(first).toBeLessThan(5);
  expect(read(large)).toBe(first);
  const [last] = tools.slice(-1);
  expect(last && book.get(offeredDefinition(last.definition).hash, last.id, small)?.name).toBe('small');
  expect(turns).toBe(0);
  clock.advance(200);
  expect(turns).toBe(1);
  expect(read(large)).toBe(tools.length);
  clock.advance(1_000);
  expect(turns).toBe(1);
});
