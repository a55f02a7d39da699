import { execFileSync } from 'node:child_process';
import { ROOT } from '../bundle.ts';

/** Returns the one time that packages carry: SOURCE_DATE_EPOCH (reproducible-builds.org), else when the commit was made. */
export function sourceTime(): Date {
  const { SOURCE_DATE_EPOCH: wanted } = process.env;
  const epochSeconds = wanted ?? execFileSync('git', ['-C', ROOT, 'log', '-1', '--format=%ct'], { encoding: 'utf8' });
  // The clock that the bundle starts from comes from the same place.
  process.env.SOURCE_DATE_EPOCH = epochSeconds.trim();
  return new Date(Number(epochSeconds) * 1000);
}
