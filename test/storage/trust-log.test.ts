import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLogger } from '../../src/core/logger.ts';
import { type TrustChange, TrustLog } from '../../src/storage/trust-log.ts';
import { smallWrites } from './small-writes.ts';

const { takes, write } = smallWrites();

const warned: unknown[] = [];
const SPACE = 'approvals';
const KIB = 1024;

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'trust-log-'));
  path = join(folder, 'trust.log');
});

afterEach(() => {
  takes.length = 0;
  rmSync(folder, { recursive: true, force: true });
});

function open(): TrustLog {
  const logger = { ...silentLogger, warn: (...line: unknown[]) => void warned.push(line) };
  return new TrustLog(path, [SPACE], { logger, write });
}

function change(generation: number, bytes = 1): TrustChange {
  return { generation, space: SPACE, key: `k${generation}`, value: 'x'.repeat(bytes) };
}

describe('a log whose living content is above the bound', () => {
  test('is full again only when it has twice the length of its last rewrite', () => {
    using log = open();
    log.rewrite([change(1, 400 * KIB)]);
    expect(log.isFull()).toBe(false);
    log.append(change(2, 300 * KIB));
    expect(log.isFull()).toBe(false);
    log.append(change(3, 200 * KIB));
    expect(log.isFull()).toBe(true);
  });

  test('is full at the bound when little counts', () => {
    using log = open();
    log.rewrite([change(1)]);
    log.append(change(2, 200 * KIB));
    expect(log.isFull()).toBe(false);
    log.append(change(3, 100 * KIB));
    expect(log.isFull()).toBe(true);
    log.rewrite([change(1)]);
    expect([log.isFull(), readFileSync(path).length < KIB]).toEqual([false, true]);
  });
});

describe('a disk that takes a part of a line', () => {
  test('is given the rest before the change counts as kept', () => {
    using log = open();
    takes.push(20, 7);
    log.append(change(1));
    log.append(change(2));
    expect(open().read()).toEqual({ changes: [change(1), change(2)], isWhole: true });
  });

  test('and no more fails the change, and leaves a file that is read and goes on', () => {
    using log = open();
    log.append(change(1));
    takes.push(20, 0);
    expect(() => log.append(change(2))).toThrow(
      expect.objectContaining({ code: 'STORAGE_FAILED', details: expect.objectContaining({ path, cause: 'full' }) }),
    );
    expect(open().read()).toEqual({ changes: [change(1)], isWhole: false });
    using restarted = open();
    restarted.append(change(3));
    expect(open().read()).toEqual({ changes: [change(1), change(3)], isWhole: false });
    expect(warned.at(-1)).toEqual(['storage.trust_log_damaged', { path, lines: 1 }]);
  });
});
