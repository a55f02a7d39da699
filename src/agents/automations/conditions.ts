import { parseSensorId } from '../../core/ids.ts';
import { localTimeAt, minutesOf } from '../triggers/local-time.ts';
import type { WatchPorts } from '../triggers/trigger-watch.ts';
import type { Condition, ReadingCondition, TimeCondition } from './automation-config.ts';
import { compare } from './reading-comparison.ts';

type ConditionPorts = Pick<WatchPorts, 'clock' | 'readings' | 'timeZone'>;

/** Do all conditions hold now? A reading that is unknown, too old or of a device that does not answer holds nothing. */
export function conditionsHold(conditions: readonly Condition[], ports: ConditionPorts): boolean {
  return conditions.every((condition) => (condition.type === 'reading' ? readingHolds(condition, ports) : timeHolds(condition, ports)));
}

function readingHolds(condition: ReadingCondition, { clock, readings }: ConditionPorts): boolean {
  const reading = readings.current(parseSensorId(condition.sensor_id));
  if (!reading || reading.value === null || reading.reachability !== 'reachable') return false;
  const maxAgeMs = (condition.max_age_seconds ?? Infinity) * 1000;
  return clock.now() - reading.atMs <= maxAgeMs && compare(condition, reading.value);
}

function timeHolds(condition: TimeCondition, { clock, timeZone }: ConditionPorts): boolean {
  const { day, minutes } = localTimeAt(clock.now(), condition.time_zone ?? timeZone);
  if (condition.days && !condition.days.includes(day)) return false;
  const from = minutesOf(condition.after ?? '00:00');
  const to = condition.before === undefined ? 24 * 60 : minutesOf(condition.before);
  return from < to ? minutes >= from && minutes < to : minutes >= from || minutes < to;
}
