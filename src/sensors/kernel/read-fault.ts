import type { SensorFault } from '../sensor-source.ts';

/** Why a reading failed, for people and for the count of misses. */
export interface ReadFault {
  readonly fault: SensorFault;
  readonly detail: string;
}

const GONE = 'does not answer; is it still connected?';

/** What drivers mean by their errors (errno(3)). */
const MEANINGS: Readonly<Record<string, ReadFault>> = {
  EIO: { fault: 'garbled', detail: 'the driver got no sound answer (I/O error)' },
  EAGAIN: { fault: 'busy', detail: 'the driver has no value now' },
  EBUSY: { fault: 'busy', detail: 'the driver is at work for somebody else' },
  EACCES: { fault: 'gone', detail: 'may not be read; give the user of the hub the right to' },
  EPERM: { fault: 'gone', detail: 'may not be read; give the user of the hub the right to' },
};

/** The meaning of what reading an attribute threw. */
export function readFault(error: unknown): ReadFault {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return MEANINGS[code] ?? { fault: 'gone', detail: code === '' || code === 'ENOENT' ? GONE : `${GONE} (${code})` };
}
