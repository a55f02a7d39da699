import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Principal } from '../../../src/core/auth/principal.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import type { HubId } from '../../../src/core/ids.ts';
import { PartReader, PartSigner } from '../../../src/mesh/rpc/signed-answers.ts';
import type { CallChunk } from '../../../src/tools/definition/notifications.ts';
import { makeTool } from '../../calls/pipeline-fixture.ts';
import { toolOf } from '../../tools/registry/remote-tools-fake.ts';
import { CallFixture } from './call-fixture.ts';
import { CountedDrops } from './link-fixture.ts';

const SCAN = { name: 'scan', execution: { stream_supported: true } };
const agent: Principal = { id: 'agent-1', kind: 'agent', permissions: ['*'] };
const hub = 'hub-0123456789abcdef' as HubId;
const key = generateKeyPairSync('ed25519');
const other = generateKeyPairSync('ed25519');

function reader(requestId = 'r1') {
  const drops = new CountedDrops();
  const members = { keyOf: () => ({ key: '', publicKey: key.publicKey }) };
  return { drops, parts: new PartReader({ members, drops }, { executor: hub, requestId }) };
}

const signer = (requestId = 'r1', privateKey = key.privateKey, hubId = hub) => new PartSigner({ hubId, privateKey }, requestId);
const text = (content: string): Uint8Array => new TextEncoder().encode(content);

describe('parts of an answer', () => {
  test('are read in the order in which they were told, each once', () => {
    const { parts, drops } = reader();
    const from = signer();
    const [first, second] = [from.sign(text('a')), from.sign(text('b'))];
    expect(parts.read(first)).toEqual({ content: text('a'), isAfterGap: false });
    expect(parts.read(first)).toBeUndefined();
    expect(parts.read(second)).toEqual({ content: text('b'), isAfterGap: false });
    expect(drops.counts).toEqual({ 'call.forged_part': 1 });
  });

  test('that were kept back on the way leave a gap that is noticed', () => {
    const { parts } = reader();
    const from = signer();
    const [first, second, third] = [from.sign(text('a')), from.sign(text('b')), from.sign(text('c'))];
    expect(parts.read(second)?.isAfterGap).toBe(true);
    expect(parts.read(first)).toBeUndefined();
    expect(parts.read(third)?.isAfterGap).toBe(false);
  });

  test('of another hub, another request or without a sound signature are none', () => {
    const { parts, drops } = reader();
    const changed = signer().sign(text('a'));
    changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
    const forged = [signer('r2'), signer('r1', other.privateKey), signer('r1', key.privateKey, 'hub-fedcba9876543210' as HubId)];
    for (const bytes of [...forged.map((from) => from.sign(text('a'))), changed, text('nonsense')])
      expect(parts.read(bytes)).toBeUndefined();
    expect(drops.counts).toEqual({ 'call.forged_part': 5 });
    expect(parts.read(signer().sign(text('a')))?.isAfterGap).toBe(false);
  });
});

/** Hubs in a row, of which the last has a tool that tells how far it is. */
async function row(count: number, definition: Record<string, unknown> = SCAN) {
  const setup = await CallFixture.of(count);
  await setup.connect(...Array.from({ length: count - 1 }, (_, index) => [index, index + 1] as const));
  const [entry, executor] = [setup.hub(0), setup.hub(count - 1)];
  executor.registry.register(
    makeTool({
      ...definition,
      handler: async (_params, { progress }) => {
        progress(0.25, 'first floor', [1]);
        progress(0.5, 'second floor', [2]);
        return { found: [1, 2] };
      },
    }),
  );
  const heard: CallChunk[] = [];
  const call = setup.forwarded(toolOf([executor.id], definition), { onChunk: (chunk) => heard.push(chunk) });
  return { setup, entry, executor, heard, call };
}

describe('what a running call tells', () => {
  test.each([2, 3])('reaches its caller before the answer, over %i hubs', async (count) => {
    const { setup, entry, executor, heard, call } = await row(count);
    const { result } = await setup.within(1_000, entry.client.router.forward(executor.id, call));
    expect(result).toEqual({ found: [1, 2] });
    expect(heard).toEqual([
      { fraction: 0.25, note: 'first floor', partial: [1] },
      { fraction: 0.5, note: 'second floor', partial: [2] },
    ]);
  });

  test('stays there for a tool that has no partial results', async () => {
    const { setup, entry, executor, heard, call } = await row(2, { name: 'scan' });
    await setup.within(1_000, entry.client.router.forward(executor.id, call));
    expect(heard).toEqual([]);
  });
});

describe('a hub in between that does not carry a request', () => {
  test.each(['PERMISSION_DENIED', 'APPROVAL_REQUIRED', 'RULE_BLOCKED', 'TOKEN_INVALID', 'VALIDATION_ERROR'] as const)(
    'cannot pretend that the other hub said %s',
    async (code) => {
      const { setup, entry, executor, call } = await row(3);
      setup.hub(1).links.handle('invoke', async () => {
        throw new AtmoError(code, 'so it says', { approval_id: 'ff', node_id: executor.id });
      });
      setup.hub(1).links.handle('job_status', async () => {
        throw new AtmoError(code, 'so it says');
      });
      const refused = await setup.within(
        1_000,
        entry.client.router.forward(executor.id, call).catch((error: AtmoError) => error),
      );
      expect(refused).toMatchObject({ code: 'NODE_UNAVAILABLE', details: { via: setup.hub(1).id } });
      expect((refused as AtmoError).details).not.toHaveProperty('approval_id');
      const asker = { principal: agent, signal: new AbortController().signal };
      const job = await setup.within(
        1_000,
        entry.client.jobs.status(executor.id, 'j1', asker).catch((error: AtmoError) => error),
      );
      expect(job).toMatchObject({ code: 'NODE_UNAVAILABLE' });
    },
  );
});
