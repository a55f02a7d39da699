import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { controlOf, preferencesWith } from '../../src/hub/offline/debian-upgrade.ts';
import { noteStart, readStarts, readUpgradeRecord, recordFile, writeUpgradeRecord } from '../../src/hub/upgrade-record.ts';

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
  rmSync(join(dir, 'starts.json'));
  symlinkSync('/dev/zero', join(dir, 'starts.json'));
  expect(readStarts(dir)).toEqual({ tookMs: [] });
});

test('a package is made again from what dpkg says of it, without what belongs to this machine', () => {
  const status =
    'Package: atmosphere-edge\nStatus: install ok installed\nVersion: 0.1.0\nConffiles:\n /etc/a 123\n /etc/b 456\nDescription: hub\n Long text.\n';
  expect(controlOf(status)).toBe('Package: atmosphere-edge\nVersion: 0.1.0\nDescription: hub\n Long text.\n');
});

test('apt is kept from each version that was not kept, once', () => {
  const versions = (text: string) =>
    [...text.matchAll(/^Package: atmosphere-edge\nPin: version (.*)\nPin-Priority: -1$/gm)].map((match) => match[1]);
  const twice = preferencesWith('0.3.0', preferencesWith('0.2.0', ''));
  expect(versions(twice)).toEqual(['0.2.0', '0.3.0']);
  expect(twice).toContain('\n\nExplanation:');
  expect(preferencesWith('0.2.0', twice)).toBe(twice);
});
