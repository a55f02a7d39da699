import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { acceptedTextsInStore, OwnerFile } from '../../../src/core/files/owner-file.ts';
import { acceptedTextInCopy } from '../../../src/core/files/recoverable-file.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';

let dir: string;
let first: string;
let second: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'owner-file-'));
  [first, second] = [join(dir, 'first.txt'), join(dir, 'second.txt')];
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const ways = [
  ['the folder of copies', () => (path: string) => acceptedTextInCopy(dir, path)],
  ['the store', () => acceptedTextsInStore(new MemoryKeyValueStore(new ManualClock()), dir)],
] as const;

/** Each start takes what it loads. */
function starts(takenOf: ReturnType<(typeof ways)[number][1]>) {
  return () => {
    const file = new OwnerFile({
      paths: [first, second],
      read: (path) => (existsSync(path) ? readFileSync(path, 'utf8') : undefined),
      parse: (text) => {
        if (text.includes('broken')) throw new Error('The text is broken');
        return text;
      },
      takenOf,
      nothing: { purpose: 'to have nothing', text: 'none' },
    });
    const found = file.load();
    if (found && !('fault' in found)) file.accept(found);
    return [found?.content, found?.fault instanceof Error ? found.fault.message : undefined];
  };
}

test.each(ways)('a file that was moved counts in its new place, with texts kept in %s', (_what, make) => {
  const start = starts(make());
  writeFileSync(first, 'old');
  expect(start()).toEqual(['old', undefined]);
  renameSync(first, second);
  writeFileSync(second, 'new');
  expect(start()).toEqual(['new', undefined]);
  rmSync(second);
  const gone = `${second} is gone; to have nothing, write "none" into it; when the hub has taken that, the file may be removed`;
  expect(start()).toEqual(['new', gone]);
  writeFileSync(first, 'first');
  writeFileSync(second, 'second');
  expect(start()).toEqual(['first', undefined]);
});

test.each<[string, (copy: string) => unknown]>([
  ['damaged', (copy) => writeFileSync(copy, '{')],
  ['replaced by a folder', (copy) => [rmSync(copy), mkdirSync(copy)]],
])('the text of an old place that was %s is forgotten when the file counts in its new place', (_what, damage) => {
  const takenOf = (path: string) => acceptedTextInCopy(dir, path);
  const start = starts(takenOf);
  writeFileSync(first, 'old');
  start();
  const [copy = ''] = readdirSync(join(dir, 'snapshots'));
  damage(join(dir, 'snapshots', copy));
  expect(takenOf(first).wasLost()).toBe(true);
  renameSync(first, second);
  expect(start()).toEqual(['old', undefined]);
  expect([takenOf(first).wasLost(), takenOf(second).get()]).toEqual([false, 'old']);
});

test.each(ways)('a moved file that is of no use leaves in force what was taken in its old place, with texts kept in %s', (_what, make) => {
  const start = starts(make());
  writeFileSync(first, 'old');
  start();
  rmSync(first);
  writeFileSync(second, 'broken');
  expect(start()).toEqual(['old', 'The text is broken']);
  writeFileSync(second, '');
  expect(start()).toEqual(['old', expect.stringContaining(`${second} is empty`)]);
  writeFileSync(second, 'new');
  expect(start()).toEqual(['new', undefined]);
});

test.each(ways)('a file that was taken as one with nothing in it can be removed, with texts kept in %s', (_what, make) => {
  const start = starts(make());
  for (const text of ['old', 'none\n']) {
    writeFileSync(first, text);
    expect(start()).toEqual([text, undefined]);
  }
  rmSync(first);
  expect(start()).toEqual([undefined, undefined]);
});
