import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';

/** From this number of free bytes on, nobody asks for more, and the pages of files need not be counted. */
const PLENTY_BYTES = 128 * 1_048_576;
const CONTROL_GROUPS = '/sys/fs/cgroup';

/** Sources of the figures. */
interface MemoryLocations {
  readonly process: Pick<NodeJS.Process, 'availableMemory' | 'constrainedMemory'>;
  /** Memory of the machine in bytes. */
  readonly totalBytes: number;
  /** `/proc/self/cgroup`. */
  readonly ownGroups: string;
  /** Mount point of the control groups. */
  readonly groups: string;
}

/**
 * Returns the bytes that this process can take. In a control group with a bound, Node.js subtracts all that the group uses from the bound
 * (uv_get_available_memory). That includes pages of files that were read or written once, with which the kernel fills a group up to its
 * bound, and which it takes back when a process needs memory (cgroups(7), memory.stat). Those that are not mapped count as available here,
 * and at least half of all, as in the kernel's own estimate (MemAvailable, proc(5)). The program's own code is among the mapped ones.
 */
export function availableMemory(locations: Partial<MemoryLocations> = {}): number {
  const { process: own = process, totalBytes = totalmem(), ownGroups = '/proc/self/cgroup', groups = CONTROL_GROUPS } = locations;
  const unusedBytes = own.availableMemory();
  if (unusedBytes >= PLENTY_BYTES) return unusedBytes;
  const boundBytes = own.constrainedMemory();
  if (boundBytes === 0 || boundBytes >= totalBytes) return unusedBytes;
  return unusedBytes + reclaimableBytes(ownGroups, groups);
}

function reclaimableBytes(ownGroups: string, groups: string): number {
  try {
    const own = readFileSync(ownGroups, 'utf8');
    const first = /^\d+:(?:[^:\n]*,)?memory(?:,[^:\n]*)?:(.*)$/m.exec(own)?.[1];
    const second = /^0::(.*)$/m.exec(own)?.[1] ?? '/';
    const stat = readFileSync(join(groups, first === undefined ? second : join('memory', first), 'memory.stat'), 'utf8');
    const prefix = first === undefined ? '' : 'total_';
    const bytes = (name: string) => Number(new RegExp(`^${prefix}${name} (\\d+)$`, 'm').exec(stat)?.[1] ?? 0);
    const mapped = bytes(first === undefined ? 'file_mapped' : 'mapped_file');
    const files = bytes('active_file') + bytes('inactive_file');
    return Math.max(files - mapped, files / 2);
  } catch {
    return 0;
  }
}
