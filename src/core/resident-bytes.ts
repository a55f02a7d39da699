import { readFileSync } from 'node:fs';

const PAGE_BYTES = 4_096;

/** Memory that a process takes now (proc_pid_statm(5), resident); 0 when it has ended. */
export function residentBytes(pid: number | undefined): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * PAGE_BYTES;
  } catch {
    return 0;
  }
}
