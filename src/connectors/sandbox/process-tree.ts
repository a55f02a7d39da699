import { readdirSync, readFileSync } from 'node:fs';

/** What a process and all that it started take now. */
export interface TreeUse {
  readonly processes: number;
  /** Memory that is no file's: own and shared pages (proc(5), RssAnon and RssShmem). */
  readonly memoryBytes: number;
}

const BYTES_PER_KB = 1024;

/** Looks at a tree of processes; it stops at `maxProcesses`, since then all is said. What ends meanwhile counts nothing. */
export function useOfTree(root: number, maxProcesses: number): TreeUse {
  const waiting = [root];
  let [processes, memoryBytes] = [0, 0];
  for (let pid = waiting.pop(); pid !== undefined && processes <= maxProcesses; pid = waiting.pop()) {
    processes += 1;
    memoryBytes += memoryOf(pid);
    waiting.push(...childrenOf(pid));
  }
  return { processes, memoryBytes };
}

/** Numbers of the processes that a process started and that live; none where it has ended. Each thread has children of its own. */
export function childrenOf(pid: number): readonly number[] {
  try {
    const lists = readdirSync(`/proc/${pid}/task`).map((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8'));
    return lists.flatMap((list) => list.split(' ').filter((one) => one !== '')).map(Number);
  } catch {
    return [];
  }
}

function memoryOf(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const kilobytes = [...status.matchAll(/^Rss(?:Anon|Shmem):\s+(\d+) kB/gm)].map(([, number]) => Number(number));
    return kilobytes.reduce((sum, one) => sum + one, 0) * BYTES_PER_KB;
  } catch {
    return 0;
  }
}
