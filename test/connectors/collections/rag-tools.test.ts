import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CollectionStore } from '../../../src/connectors/collections/collection-store.ts';
import { collectionTools } from '../../../src/connectors/collections/rag-tools.ts';
import type { Embedder } from '../../../src/connectors/models/embeddings.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { anchorInStore } from '../../../src/core/storage/key-value-store.ts';
import { makePipeline, owner } from '../../calls/pipeline-fixture.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';

/** Counts words: texts that share words are near. */
class WordCount implements Embedder {
  width = 64;
  name = 'words';
  texts = 0;

  modelName(name = this.name): string {
    return name;
  }

  async embed(texts: readonly string[]): Promise<readonly (readonly number[])[]> {
    this.texts += texts.length;
    return texts.map((text) => {
      const vector = new Array<number>(this.width).fill(0);
      for (const word of text.toLowerCase().match(/\w+/g) ?? []) vector[this.#slot(word)] = 1;
      return vector;
    });
  }

  #slot(word: string): number {
    return [...word].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % this.width, 7);
  }
}

let folder: string;
let path: string;
const stores: CollectionStore[] = [];
let kept: MemoryKeyValueStore;
let losses: string[];
beforeEach(() => {
  kept = new MemoryKeyValueStore(new ManualClock());
  losses = [];
  folder = mkdtempSync(join(tmpdir(), 'collections-'));
  path = join(folder, 'rag.db');
});
afterEach(() => {
  for (const store of stores.splice(0)) store[Symbol.dispose]();
  rmSync(folder, { recursive: true });
});

function house({ maxParts = 100, embedder = new WordCount() } = {}) {
  const store = new CollectionStore(path, { maxParts, anchor: anchorInStore(kept, 'rag.db'), onLoss: (fault) => void losses.push(fault) });
  stores.push(store);
  const { registry, pipeline } = makePipeline({ capabilities: () => ['embeddings', 'vector_store'] });
  for (const tool of collectionTools({ store, embedder }, undefined)) expect(registry.register(tool)).toEqual([]);
  const call = (tool: string, params: JsonObject) => pipeline.call({ principal: owner, tool, params });
  return { store, embedder, call };
}

const BOILER = { id: 'boiler', content: 'Descale the boiler once a year', metadata: { room: 'cellar' } };
const OVEN = { id: 'oven', content: 'Clean the oven door with soda', metadata: { room: 'kitchen' } };

describe('documents', () => {
  test('are found by what they are about, the nearest first, with score and metadata', async () => {
    const { call } = house();
    expect(await call('rag_add', { documents: [BOILER, OVEN] })).toMatchObject({
      result: { ids: ['boiler', 'oven'], parts: 2, model_used: 'words' },
    });
    const answer = await call('rag_search', { query: 'descale boiler', min_score: 0.1 });
    expect(answer).toMatchObject({
      result: { documents: [{ id: 'boiler', content: BOILER.content, metadata: BOILER.metadata, part: 1 }], total_searched: 2 },
    });
    const [found] = (answer as unknown as { result: { documents: { score: number }[] } }).result.documents;
    // Two of two words of the question are among six of the document: the cosine is 2 / √(2·6).
    expect(found?.score).toBeCloseTo(2 / Math.sqrt(12), 3);
  });

  test('can be narrowed by metadata, score and number', async () => {
    const { call } = house();
    await call('rag_add', { documents: [BOILER, OVEN] });
    const search = (params: JsonObject) => call('rag_search', { query: 'the', min_score: 0, ...params });
    expect(await search({ filter: { room: 'kitchen' } })).toMatchObject({ result: { documents: [{ id: 'oven' }], total_searched: 1 } });
    expect(await search({ limit: 1 })).toMatchObject({ result: { documents: [{}], total_searched: 2 } });
    expect(await search({ min_score: 1 })).toMatchObject({ result: { documents: [] } });
  });

  test('of one id replace each other, and content without an id is added once', async () => {
    const { call } = house();
    await call('rag_add', { documents: [BOILER] });
    await call('rag_add', { documents: [{ id: 'boiler', content: 'Sold' }] });
    const [first, again] = [
      await call('rag_add', { documents: [{ content: 'A note' }] }),
      await call('rag_add', { documents: [{ content: 'A note' }] }),
    ];
    expect((first as { result?: unknown }).result).toEqual((again as { result?: unknown }).result);
    expect(await call('rag_search', { query: 'anything', min_score: 0 })).toMatchObject({ result: { total_searched: 2 } });
  });

  test('outlive the hub, and are gone once they are removed', async () => {
    const first = house();
    await first.call('rag_add', { collection: 'manuals', documents: [BOILER, OVEN] });
    first.store[Symbol.dispose]();
    const { call, store } = house();
    expect(await call('rag_remove', { collection: 'manuals', ids: ['oven', 'unknown'] })).toMatchObject({ result: { removed: 1 } });
    expect(await call('rag_search', { collection: 'manuals', query: 'oven soda door', min_score: 0.3 })).toMatchObject({
      result: { documents: [], total_searched: 1 },
    });
    expect(await call('rag_remove', { collection: 'manuals', all: true })).toMatchObject({ result: { removed: 1 } });
    expect(store.names()).toEqual([]);
  });

  test('that are long are found by their passages', async () => {
    const { call } = house();
    const filler = 'Nothing here is about anything at all. '.repeat(60);
    await call('rag_add', { documents: [{ id: 'book', content: `${filler}The key hangs behind the clock. ${filler}` }] });
    expect(await call('rag_search', { query: 'key hangs behind clock', min_score: 0.2, limit: 1 })).toMatchObject({
      result: { documents: [{ id: 'book', content: expect.stringContaining('behind the clock') }] },
    });
  });
});

describe('mistakes', () => {
  test('a missing collection is refused with the names of the existing ones', async () => {
    const { call } = house();
    expect(await call('rag_search', { query: 'x' })).toMatchObject({
      error: { code: 'NOT_FOUND', message: expect.stringContaining('rag_add') },
    });
    await call('rag_add', { collection: 'manuals', documents: [BOILER] });
    expect(await call('rag_search', { query: 'x', collection: 'manual' })).toMatchObject({
      error: { code: 'NOT_FOUND', details: { candidates: ['manuals'] } },
    });
  });

  test('vectors of two models never meet in one collection', async () => {
    const { call, embedder } = house();
    await call('rag_add', { documents: [BOILER] });
    expect(await call('rag_add', { documents: [OVEN], model: 'other' })).toMatchObject({ error: { code: 'CONFLICT' } });
    embedder.width = 32;
    expect(await call('rag_add', { documents: [OVEN] })).toMatchObject({ error: { code: 'CONFLICT' } });
    expect(await call('rag_search', { query: 'x' })).toMatchObject({ error: { code: 'CONFLICT' } });
  });

  test('documents above the bound are refused as a whole', async () => {
    const { call, store } = house({ maxParts: 1 });
    expect(await call('rag_add', { documents: [BOILER, OVEN] })).toMatchObject({
      error: { code: 'PAYLOAD_TOO_LARGE', message: expect.stringContaining('max_parts') },
    });
    expect(store.names()).toEqual([]);
  });

  test('nothing is embedded of documents that cannot be', async () => {
    const { call, embedder } = house();
    expect(await call('rag_add', { documents: [BOILER, { content: '  ' }] })).toMatchObject({ error: { code: 'VALIDATION_ERROR' } });
    expect(await call('rag_add', { documents: [{ content: 'x', metadata: { long: 'y'.repeat(9_000) } }] })).toMatchObject({
      error: { code: 'PAYLOAD_TOO_LARGE' },
    });
    expect(embedder.texts).toBe(0);
  });

  test('a collection is removed only by who says so', async () => {
    const { call } = house();
    expect(await call('rag_remove', {})).toMatchObject({ error: { code: 'VALIDATION_ERROR' } });
    expect(await call('rag_remove', { ids: ['a'], all: true })).toMatchObject({ error: { code: 'VALIDATION_ERROR' } });
  });
});

describe('the file', () => {
  test('is not there before somebody needs it', () => {
    house();
    expect(existsSync(path)).toBe(false);
  });

  test('that is none, or of a newer hub, is left as it is', () => {
    writeFileSync(path, 'no database at all, but long enough to look like one '.repeat(100));
    expect(() => house().store.names()).toThrowError(expect.objectContaining({ code: 'STORAGE_FAILED' }));
    rmSync(path);
    using newer = new DatabaseSync(path);
    newer.exec('PRAGMA user_version = 99');
    expect(() => house().store.names()).toThrowError(/newer atmosphere-edge/);
  });

  test('can be copied by others while the hub has it open', async () => {
    await house().call('rag_add', { documents: [BOILER] });
    using other = new DatabaseSync(path, { readOnly: true });
    expect(other.prepare('SELECT count(*) AS count FROM parts').get()).toEqual({ count: 1 });
  });
});

describe('a file of documents that held some', () => {
  test.each([
    ['is gone', () => rmSync(path), /has lost all that it held/],
    ['is empty', () => truncateSync(path, 0), /has lost all that it held/],
    ['is an older one', () => copyFileSync(`${path}.before`, path), /has lost its last 1 changes/],
    ['is a folder', () => [rmSync(path), mkdirSync(path)], /cannot be read or written/],
  ])('says at the next start that it %s, once', async (_what, damage, fault) => {
    const first = house();
    await first.call('rag_add', { documents: [BOILER] });
    first.store[Symbol.dispose]();
    copyFileSync(path, `${path}.before`);
    house().store.check();
    expect(losses).toEqual([]);
    const second = house();
    await second.call('rag_add', { documents: [OVEN] });
    for (const store of stores) store[Symbol.dispose]();
    damage();
    house().store.check();
    expect(losses).toEqual([expect.stringMatching(fault)]);
  });

  test('is whole though the store of the hub is full: the added documents are in it', async () => {
    const { call } = house();
    expect(await call('rag_add', { documents: [BOILER] })).toMatchObject({ status: 'success' });
    kept.set = () => {
      throw new AtmoError('STORAGE_FAILED', 'The disk is full');
    };
    expect(await call('rag_add', { documents: [OVEN] })).toMatchObject({ status: 'success' });
    stores.pop()?.[Symbol.dispose]();
    house().store.check();
    expect(losses).toEqual([]);
  });

  test('is no file that was lost where a hub never had one', () => {
    house().store.check();
    expect([losses, existsSync(path)]).toEqual([[], false]);
  });
});
