import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { controlOf } from '../../src/hub/offline/kept-package.ts';
import {
  noteStart,
  readRecordBefore,
  readStarts,
  readUpgradeRecord,
  recordFile,
  restoreUpgradeRecord,
  writeUpgradeRecord,
} from '../../src/hub/upgrade-record.ts';

const dir = mkdtempSync(join(tmpdir(), 'atmo-upgrade-'));
afterAll(() => rmSync(dir, { recursive: true }));

test('a record is read as it was written, and everybody on the machine may read it', () => {
  const record = { step: 'rolled-back', from: '0.1.0', to: '0.2.0', reason: 'ended', atMs: 5 } as const;
  writeUpgradeRecord(dir, record);
  expect(readUpgradeRecord(dir)).toEqual(record);
  expect(statSync(recordFile(dir)).mode & 0o777).toBe(0o644);
});

test('what a preinst writes is a record; what no version wrote is none', () => {
  writeFileSync(recordFile(dir), '{"step":"installing","from":"0.1.0","to":"0.2.0"}\n');
  expect(readUpgradeRecord(dir)).toEqual({ step: 'installing', from: '0.1.0', to: '0.2.0' });
  for (const text of ['', 'x', '[]', '{"step":"flying","from":"1","to":"2"}', '{"step":"settled","from":1,"to":"2"}']) {
    writeFileSync(recordFile(dir), text);
    expect(readUpgradeRecord(dir), text).toBeUndefined();
  }
  expect(readUpgradeRecord(join(dir, 'nowhere'))).toBeUndefined();
});

test('the last eight starts are remembered', () => {
  for (let second = 1; second <= 10; second++) noteStart(dir, { localUrl: 'http://127.0.0.1:8081', tookMs: second * 1_000 });
  expect(readStarts(dir)).toEqual({ localUrl: 'http://127.0.0.1:8081', tookMs: [3, 4, 5, 6, 7, 8, 9, 10].map((second) => second * 1_000) });
});

test('root asks no other machine, whatever the file of the hub says', () => {
  for (const url of ['http://192.0.2.1:80', 'https://127.0.0.1', 'http://127.0.0.1.example.org/', 'file:///etc/passwd', 'x']) {
    writeFileSync(join(dir, 'starts.json'), JSON.stringify({ local_url: url, took_ms: [1, 'x', null] }));
    expect(readStarts(dir), url).toEqual({ tookMs: [1] });
  }
});

test.each([
  ['a link', (path: string) => symlinkSync('/dev/zero', path)],
  ['a link to a file', (path: string) => symlinkSync(recordFile(dir), path)],
  ['a pipe', (path: string) => execFileSync('/usr/bin/mkfifo', [path])],
  ['a folder', (path: string) => mkdirSync(path)],
])('%s in the place of what the hub notes is reported to root, and not read', (_, put) => {
  const path = join(dir, 'starts.json');
  rmSync(path, { force: true });
  put(path);
  const problems: string[] = [];
  expect(readStarts(dir, (problem) => problems.push(problem))).toEqual({ tookMs: [] });
  expect(problems).toEqual([expect.stringContaining(`${path} is no file that the hub wrote`)]);
  rmSync(path, { recursive: true });
  expect(readStarts(dir, (problem) => problems.push(problem))).toEqual({ tookMs: [] });
  expect(problems).toHaveLength(1);
});

test('an upgrade that did not take place leaves the record of the one before, or none', () => {
  const before = { step: 'settled', from: '0.0.9', to: '0.1.0' } as const;
  writeFileSync(join(dir, 'before.json'), JSON.stringify(before));
  expect(readRecordBefore(dir)).toEqual(before);
  writeUpgradeRecord(dir, { step: 'installing', from: '0.1.0', to: '0.2.0' });
  restoreUpgradeRecord(dir);
  expect(readUpgradeRecord(dir)).toEqual(before);
  restoreUpgradeRecord(dir);
  expect(readUpgradeRecord(dir)).toBeUndefined();
});

test('a package is made again from what dpkg says of it, without what belongs to this machine', () => {
  const status =
    'Package: atmosphere-edge\nStatus: install ok installed\nVersion: 0.1.0\nConffiles:\n /etc/a 123\n /etc/b 456\nDescription: hub\n Long text.\n';
  expect(controlOf(status)).toBe('Package: atmosphere-edge\nVersion: 0.1.0\nDescription: hub\n Long text.\n');
});
