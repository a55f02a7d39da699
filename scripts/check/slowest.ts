/** How long a file of tests took. */
export interface FileTime {
  readonly file: string;
  readonly seconds: number;
}

const COUNT = 10;

/** A line for each of the ten that took longest. */
export function slowest(times: readonly FileTime[]): readonly string[] {
  const sorted = times.toSorted((a, b) => b.seconds - a.seconds).slice(0, COUNT);
  return sorted.map(({ file, seconds }) => `slow: ${seconds.toFixed(1).padStart(6)} s ${file}`);
}
