import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { jsonFilesIn } from '../../../src/core/files/file-system.ts';
import { acceptedTextsInStore, readOwnerFolder, reportStaleFolder } from '../../../src/core/files/owner-file.ts';
import { HubProblems } from '../../../src/core/health.ts';
import { createLogger } from '../../../src/core/logger.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';

let dir: string;
let path: string;
let store: MemoryKeyValueStore;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'owner-folder-'));
  path = join(dir, 'things');
  mkdirSync(path);
  store = new MemoryKeyValueStore(new ManualClock());
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

interface Thing {
  readonly about: string;
  readonly word: string;
}

/** What a start takes: the words that count, and what it tells. */
function start(): readonly [words: string, told: string] {
  const { contents, faults, keep } = readOwnerFolder<Thing>({
    path,
    names: jsonFilesIn(path),
    parse: (json) => json as Thing,
    subjectOf: ({ about }) => about,
    takenOf: acceptedTextsInStore(store, dir),
  });
  keep();
  const words = contents.map(({ word }) => word).join();
  return [words, faults.map((fault) => fault.replaceAll(`${path}/`, '')).join()];
}

const save = (name: string, about: string, word: string) => writeFileSync(join(path, name), JSON.stringify({ about, word }));
const GONE = 'a.json is gone; to be without it, write "null" into it; when the hub has taken that, the file may be removed';
const CUT_OFF = 'a.json cannot be read as JSON: Unterminated string in JSON at position 12 (line 1 column 13)';

describe('a folder of files of the owner', () => {
  beforeEach(() => {
    save('a.json', 'lamp', 'one');
    save('b.json', 'door', 'two');
    expect(start()).toEqual(['one,two', '']);
  });

  test('counts as it is: files are edited and added, and nothing is told', () => {
    save('a.json', 'lamp', 'edited');
    save('c.json', 'gate', 'three');
    expect(start()).toEqual(['edited,two,three', '']);
  });

  test.each([
    ['gone', () => rmSync(join(path, 'a.json')), GONE],
    ['empty', () => writeFileSync(join(path, 'a.json'), ''), 'a.json is empty; to be without it, write "null" into it'],
    ['zeros', () => writeFileSync(join(path, 'a.json'), '\0\0\0'), 'a.json is empty; to be without it, write "null" into it'],
    ['cut off', () => writeFileSync(join(path, 'a.json'), '{"about":"la'), CUT_OFF],
  ])('goes on with what a file said that is %s, and tells it at every start until it is back', (_what, damage, told) => {
    damage();
    expect(start()).toEqual(['two,one', told]);
    expect(start()).toEqual(['two,one', told]);
    save('a.json', 'lamp', 'back');
    expect(start()).toEqual(['back,two', '']);
  });

  test('that is gone as a whole is told file by file', () => {
    rmSync(path, { recursive: true });
    expect(start()).toEqual(['one,two', `${GONE},${GONE.replace('a.json', 'b.json')}`]);
  });

  test('is without a file that says "null", also when that is removed later', () => {
    writeFileSync(join(path, 'a.json'), 'null\n');
    expect(start()).toEqual(['two', '']);
    rmSync(join(path, 'a.json'));
    expect(start()).toEqual(['two', '']);
    expect(start()).toEqual(['two', '']);
  });

  test('takes a file that was renamed, edited too, for the successor of the one that is gone', () => {
    renameSync(join(path, 'a.json'), join(path, 'z.json'));
    save('z.json', 'lamp', 'renamed');
    expect(start()).toEqual(['two,renamed', '']);
    rmSync(join(path, 'z.json'));
    expect(start()).toEqual(['two,renamed', GONE.replace('a.json', 'z.json')]);
  });

  test('tells as a problem and in the log which files do not count, and what does', () => {
    const [problems, log] = [new HubProblems(), [] as string[]];
    const logger = createLogger('warn', (line) => void log.push(line));
    reportStaleFolder({ logger, problems }, { path, faults: [] });
    expect([problems.list(), log]).toEqual([[], []]);
    reportStaleFolder({ logger, problems }, { path, faults: [GONE] });
    expect(problems.list()).toEqual([`${GONE} (what it said when it was taken last goes on counting)`]);
    expect(log.join()).toContain('files.owner_files_refused');
  });
});

test('a file with mistakes of which nothing was ever taken is thrown, and the others are not taken either', () => {
  save('a.json', 'lamp', 'one');
  writeFileSync(join(path, 'b.json'), '{');
  expect(start).toThrow('b.json cannot be read as JSON: ');
  rmSync(join(path, 'a.json'));
  rmSync(join(path, 'b.json'));
  expect(start()).toEqual(['', '']);
});
