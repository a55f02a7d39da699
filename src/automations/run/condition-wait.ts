import { type Clock, repeat } from '../../core/clock.ts';
import { parseSensorId } from '../../core/devices/device-names.ts';
import { type Condition, type SimpleCondition, simpleConditions } from '../plan/condition-schema.ts';
import { Expression } from '../plan/expression.ts';
import type { EventIndex } from '../triggers/watch.ts';

/** How often conditions are checked again of which no event tells, such as those about the time, in milliseconds. */
const RECHECK_MS = 30_000;

/** What to wait for, and how long. */
interface Awaited {
  readonly conditions: readonly Condition[];
  readonly leftMs: number;
  readonly signal: AbortSignal;
}

/** Resolves to true as soon as `holds` returns true. Resolves to false when the time is over or the signal aborts. Rejects with its error. */
export function untilTrue(
  holds: () => boolean,
  { conditions, leftMs, signal }: Awaited,
  { clock, index }: { readonly clock: Clock; readonly index: EventIndex },
): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const check = () => {
    try {
      if (holds()) resolve(true);
    } catch (thrown) {
      reject(thrown);
    }
  };
  const giveUp = () => resolve(false);
  const stops = [...listen(index, conditions, check), repeat(clock, RECHECK_MS, check), clock.after(leftMs, giveUp)];
  signal.addEventListener('abort', giveUp, { once: true });
  check();
  if (signal.aborted) giveUp();
  return promise.finally(() => {
    for (const stop of stops) stop();
    signal.removeEventListener('abort', giveUp);
  });
}

/** Calls back once at each event that can change a condition. */
function listen(index: EventIndex, conditions: readonly Condition[], callback: () => void): readonly (() => void)[] {
  const subjects = simpleConditions(conditions).flatMap(subjectsOf);
  const distinct = new Map(subjects.map((subject) => [subject.join(' '), subject]));
  return [...distinct.values()].map(([type, subject]) => index.on(type, subject, callback));
}

type Subject = readonly ['sensor.reading' | 'device.reachability' | 'house.changed', string];

function subjectsOf(condition: SimpleCondition): readonly Subject[] {
  switch (condition.type) {
    case 'reading':
      return subjectsOfSensor(condition.sensor_id);
    case 'reachability':
      return [['device.reachability', condition.device_id]];
    case 'flag':
      return [['house.changed', `flag/${condition.flag}`]];
    case 'presence':
      return [['house.changed', 'presence']];
    case 'expression':
      return subjectsOfExpression(Expression.parse(condition.expr));
    default:
      return [];
  }
}

function subjectsOfExpression({ uses }: Expression): readonly Subject[] {
  const flags = [...uses.flags].map((name): Subject => ['house.changed', `flag/${name}`]);
  return [...[...uses.readings].flatMap(subjectsOfSensor), ...flags];
}

function subjectsOfSensor(sensorId: string): readonly Subject[] {
  const [device = ''] = parseSensorId(sensorId).split('/');
  return [
    ['sensor.reading', sensorId],
    ['device.reachability', device],
  ];
}
