import { readFileSync } from 'node:fs';

const BYTES_PER_KB = 1_024;

/**
 * Memory that a process takes now (proc_pid_status(5), VmRSS); 0 when it has ended. Not by statm(5), which counts in pages: they have
 * 4 KiB on most boards, 16 KiB on a Raspberry Pi 5.
 */
export function residentBytes(pid: number | undefined): number {
  try {
    const [, kilobytes = '0'] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(kilobytes) * BYTES_PER_KB;
  } catch {
    return 0;
  }
}
