import { existsSync, readFileSync } from 'node:fs';

/**
 * Milliseconds that the processor worked in this thread for `work`. A bound on it says how much there is to do, however busy
 * others keep the machine, which a bound on time by the wall does not.
 */
export async function processorMs(work: () => unknown): Promise<number> {
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

/**
 * Starts a clock that stands still while this process, or one of `others`, could run and the processors worked for somebody else. A bound on
 * its milliseconds is one for a machine that has nothing else to do. The waits of all processes are added: give it processes of which one
 * works while the others wait for it. On a kernel that does not count waits (CONFIG_SCHED_INFO), it is an ordinary clock.
 */
export function ownClock(...others: readonly (number | undefined)[]): () => number {
  const pids = [process.pid, ...others.filter((pid) => pid !== undefined)];
  const nowMs = () => performance.now() - pids.reduce((sum, pid) => sum + waitedMs(pid), 0);
  const startMs = nowMs();
  return () => nowMs() - startMs;
}

/** How long the main thread of a process waited for a processor since it began (proc_pid_schedstat in Linux's sched-stats.rst). */
function waitedMs(pid: number): number {
  const path = `/proc/${pid}/schedstat`;
  return existsSync(path) ? Number(readFileSync(path, 'utf8').split(' ')[1]) / 1e6 : 0;
}
