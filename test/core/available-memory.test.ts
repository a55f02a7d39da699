import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { availableMemory } from '../../src/core/available-memory.ts';

const MB = 1_048_576;
let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'groups-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** A process in a control group: what Node.js says of it, and the files of the kernel. */
function inGroup({ own, stat, unusedMb, boundMb }: { own: string; stat: readonly [string, string]; unusedMb: number; boundMb: number }) {
  writeFileSync(join(dir, 'self'), own);
  mkdirSync(join(dir, stat[0]), { recursive: true });
  writeFileSync(join(dir, stat[0], 'memory.stat'), stat[1]);
  const process = { availableMemory: () => unusedMb * MB, constrainedMemory: () => boundMb * MB };
  return availableMemory({ process, totalBytes: 1_024 * MB, ownGroups: join(dir, 'self'), groups: dir }) / MB;
}

const SECOND = `anon ${90 * MB}\nfile ${100 * MB}\nfile_mapped ${40 * MB}\ninactive_file ${30 * MB}\nactive_file ${65 * MB}\n`;
const FIRST = `inactive_file 1\nactive_file 1\ntotal_mapped_file ${40 * MB}\ntotal_inactive_file ${30 * MB}\ntotal_active_file ${65 * MB}\n`;

describe('memory that the process can take', () => {
  test('pages of files that are not mapped count, in a group of version 2', () => {
    const own = '0::/system.slice/atmosphere-edge.service\n';
    expect(inGroup({ own, stat: ['system.slice/atmosphere-edge.service', SECOND], unusedMb: 0, boundMb: 200 })).toBe(55);
  });

  test('the same in a group of version 1, also with groups inside of it', () => {
    const own = '5:cpu,memory:/board/hub\n4:pids:/other\n0::/\n';
    expect(inGroup({ own, stat: ['memory/board/hub', FIRST], unusedMb: 2, boundMb: 200 })).toBe(57);
  });

  test('of mapped pages at least half counts', () => {
    const stat = `file_mapped ${90 * MB}\ninactive_file ${30 * MB}\nactive_file ${70 * MB}\n`;
    expect(inGroup({ own: '0::/hub\n', stat: ['hub', stat], unusedMb: 1, boundMb: 200 })).toBe(51);
  });

  test('without a bound, Node.js has counted them already', () => {
    const own = '0::/\n';
    expect(inGroup({ own, stat: ['.', SECOND], unusedMb: 3, boundMb: 0 })).toBe(3);
    expect(inGroup({ own, stat: ['.', SECOND], unusedMb: 3, boundMb: 1_024 })).toBe(3);
  });

  test('a group that cannot be read adds nothing', () => {
    expect(inGroup({ own: '0::/gone\n', stat: ['.', SECOND], unusedMb: 3, boundMb: 200 })).toBe(3);
  });

  test('is asked of this process by default', () => {
    expect(availableMemory()).toBeGreaterThan(0);
  });
});
