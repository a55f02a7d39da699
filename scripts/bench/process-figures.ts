import { readdirSync, readFileSync } from 'node:fs';

/** Linux's USER_HZ, which is 100 on every architecture that the hub runs on. */
const TICKS_PER_SECOND = 100;

/** Memory that the kernel holds for a process, in MB. */
export function rssMegabytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

/** Processor time that a process has used, in seconds. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Processor time of all threads that a process has now, in milliseconds; finer than `cpuSeconds`. Linux's task schedstat files. */
export function threadsCpuMs(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const nanoseconds = threads.map((thread) => Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]));
  return nanoseconds.reduce((sum, each) => sum + each, 0) / 1e6;
}
