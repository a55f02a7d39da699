/** Something that takes some of the places there are while it runs. */
export interface Job<Result> {
  readonly places: number;
  run(): Promise<Result>;
}

/** Runs the jobs in their order, as many at a time as there are places for; a small one may pass by one that does not fit yet. */
export async function inPool<Result>(places: number, jobs: readonly Job<Result>[]): Promise<readonly Result[]> {
  const waiting = [...jobs];
  const running = new Set<Promise<void>>();
  const results: Result[] = [];
  let free = places;
  const begin = (job: Job<Result>): void => {
    free -= job.places;
    const ended = job.run().then((result) => {
      results.push(result);
      free += job.places;
      running.delete(ended);
    });
    running.add(ended);
  };
  while (waiting.length > 0 || running.size > 0) {
    const next = waiting.findIndex((job) => job.places <= free || running.size === 0);
    if (next === -1) await Promise.race(running);
    else for (const job of waiting.splice(next, 1)) begin(job);
  }
  return results;
}
