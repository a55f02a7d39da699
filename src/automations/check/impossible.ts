import { parseDeviceId, parseSensorId } from '../../core/devices/device-names.ts';
import type { JsonObject } from '../../core/json.ts';
import type { CheckPorts } from '../automation-ports.ts';
import { deviceName, sensorName } from '../home-things.ts';
import type { Condition } from '../plan/condition-schema.ts';
import { devicesOf } from './acts.ts';
import { type Behaviour, situationsAt } from './behaviour.ts';
import { type Finding, findingOf, quotedName, stepFact, timelineEntry, timesFact } from './finding.ts';
import { both, isPossible, type Situation, situationsOf } from './situations.ts';
import type { Start } from './starts.ts';
import { between, commonRange, exactly, isNoValue, joinedRange, rangeFact, rangeText, type ValueRange } from './value-range.ts';
import { isEmpty, NEVER, timesText } from './week-times.ts';

/** Returns conditions that never hold, with each other or with a trigger. */
export function neverHolding(behaviour: Behaviour, ports: CheckPorts): readonly Finding[] {
  const { conditions } = behaviour.automation.plan;
  const whole = situationsOf(conditions, ports);
  if (!whole.some(isPossible)) {
    const { why, fact } = clashIn(whole, ports);
    return [neverHoldingFinding(behaviour, ports, { why, facts: { case: 'clash', ...fact } })];
  }
  const dead = behaviour.starts.filter(({ own, situations }) => isPossible(own) && situations.length === 0);
  return dead.map((start) => {
    const trigger = triggerSaid(start, ports);
    const clash = clashIn(
      whole.map((situation) => both(start.own, situation)),
      ports,
    );
    const why = `${trigger.why} it never runs, because a condition does not hold then: ${clash.why}`;
    return neverHoldingFinding(behaviour, ports, { why, facts: { case: 'trigger_clash', ...trigger.fact, ...clash.fact } });
  });
}

function neverHoldingFinding(behaviour: Behaviour, ports: CheckPorts, { why, facts }: Pick<Obstacle, 'why' | 'facts'>): Finding {
  return impossibleFinding(behaviour, { kind: 'never_holds', ports, why, facts, devices: [] });
}

/** Returns the first step that is never done, because the choices and waits before it exclude each other, or the trigger. */
export function neverDone(behaviour: Behaviour, ports: CheckPorts): readonly Finding[] {
  const starts = behaviour.starts.filter(({ situations }) => situations.length > 0);
  if (starts.length === 0) return [];
  const step = behaviour.steps.find((one) => starts.every((start) => situationsAt(start, one).length === 0));
  if (!step) return [];
  const why = `the step ${step.tool} is never done, because the conditions of choices and waits before it exclude each other, or the trigger`;
  const facts = { case: 'step_never', ...stepFact(step) } as const;
  return [impossibleFinding(behaviour, { kind: 'never_holds', ports, why, facts, devices: devicesOf(step) })];
}

/** A part of a sentence, and the same as a fact. */
interface Said {
  readonly why: string;
  readonly fact: JsonObject;
}

/** Returns why none of the situations is possible, by the first of them. Without `about`, the times have no minute in common. */
function clashIn([situation]: readonly Situation[], ports: CheckPorts): Said {
  if (!situation) return { why: 'no condition can hold', fact: {} };
  const [key] = [...situation.facts].find(([, range]) => isNoValue(range)) ?? [];
  if (key === undefined) return { why: 'the times have no minute in common', fact: {} };
  const [kind = '', id = ''] = key.split(' ');
  const name = subjectName(kind, id, ports);
  const why = `${subjectText(kind, name)} would need two values at once that exclude each other`;
  return { why, fact: { about: { kind, ...(id !== '' && { id, name }) } } };
}

function subjectName(kind: string, id: string, ports: CheckPorts): string {
  if (kind === 'reading') return sensorName(id, ports);
  return kind === 'reachability' ? deviceName(id, ports) : id;
}

/** Returns what a fact of a situation is about. */
function subjectText(kind: string, name: string): string {
  switch (kind) {
    case 'reading':
      return name;
    case 'flag':
      return `the flag ${name}`;
    case 'reachability':
      return `whether ${name} is reachable`;
    default:
      return name === '' ? 'whether somebody is at home' : `whether ${name} is at home`;
  }
}

/** Returns what sets off an automation. Nothing is known about it without a sensor or times. */
function triggerSaid({ trigger, own }: Start, ports: CheckPorts): Said {
  if (trigger.type === 'reading') {
    const sensor = sensorName(trigger.sensor_id, ports);
    return { why: `When ${sensor} sets it off,`, fact: { sensor } };
  }
  if (isEmpty(own.times)) return { why: 'Then', fact: {} };
  return { why: `When it is set off ${timesText(own.times)},`, fact: { times: timesFact(own.times) } };
}

/** Returns triggers and conditions about something that never comes: what is gone, or a value that the sensor never shows. */
export function neverComing(behaviour: Behaviour, ports: CheckPorts): readonly Finding[] {
  const triggers = behaviour.automation.plan.triggers.flatMap((trigger) => obstacle(trigger, ports) ?? []);
  const conditions = behaviour.automation.plan.conditions.flatMap((condition) => obstacle(condition, ports) ?? []);
  return [...triggers, ...conditions].map(({ why, facts, device }) =>
    impossibleFinding(behaviour, { kind: 'never_comes', ports, why, facts, devices: [device] }),
  );
}

interface Obstacle {
  readonly why: string;
  readonly facts: Finding['facts'];
  readonly device: string;
}

function obstacle(about: Start['trigger'] | Condition, ports: CheckPorts): Obstacle | undefined {
  if ('sensor_id' in about) return sensorObstacle(about, ports);
  if (!('device_id' in about)) return undefined;
  const device = about.device_id;
  if (!ports.devices.get(parseDeviceId(device))) {
    return { device, why: `there is no device ${JSON.stringify(device)} any more`, facts: { case: 'no_device', id: device } };
  }
  return about.type === 'device_event' ? eventObstacle(about, ports) : undefined;
}

function sensorObstacle(about: Extract<Start['trigger'] | Condition, { sensor_id: string }>, ports: CheckPorts): Obstacle | undefined {
  const id = about.sensor_id;
  const sensor = parseSensorId(id);
  const device = ports.readings.current(sensor)?.sensor.device ?? id.split('/', 1)[0] ?? '';
  if (!ports.readings.current(sensor)) {
    return { device, why: `there is no sensor ${JSON.stringify(id)} any more`, facts: { case: 'no_sensor', id } };
  }
  const shown = shownRange(id, ports);
  const [wanted] = situationsOf([{ ...about, type: 'reading' } as Condition], ports);
  const range = wanted?.facts.get(`reading ${id}`);
  if (!shown || !range || !isNoValue(commonRange(shown, range))) return undefined;
  const name = sensorName(id, ports);
  const facts = { case: 'no_value', sensor: name, wanted: rangeFact(range), shown: rangeFact(shown) } as const;
  return { device, why: `${name} is never ${rangeText(range)}: it shows ${rangeText(shown)}`, facts };
}

/** Returns the values that a sensor can show, by the schema of its value; undefined if that says nothing about them. */
function shownRange(id: string, { values, readings }: CheckPorts): ValueRange | undefined {
  const sensor = parseSensorId(id);
  const schema = values.shownBy(sensor)?.schema;
  const texts = enumOf(schema);
  if (texts.length > 0) return texts.map(exactly).reduce(joinedRange);
  const [minimum, maximum] = [numberOf(schema?.minimum), numberOf(schema?.maximum)];
  if (minimum !== undefined || maximum !== undefined) return between(minimum, maximum);
  if (schema?.type === 'boolean' || (Array.isArray(schema?.type) && schema.type.includes('boolean'))) return between(0, 1);
  return readings.current(sensor)?.sensor.unit === '%' ? between(0, 100) : undefined;
}

function enumOf(schema: Readonly<Record<string, unknown>> | undefined): readonly (string | number | boolean)[] {
  const listed = Array.isArray(schema?.enum) ? schema.enum : [];
  // A device that is newer than the data model may show a number where the model has names, which no automation waits for.
  const named = Array.isArray(schema?.anyOf) ? schema.anyOf.flatMap((one: { enum?: readonly unknown[] }) => one.enum ?? []) : [];
  return [...listed, ...named].filter((one) => typeof one === 'string' || typeof one === 'number' || typeof one === 'boolean');
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

function eventObstacle(
  { device_id: device, event, cluster }: Extract<Start['trigger'], { type: 'device_event' }>,
  ports: CheckPorts,
): Obstacle | undefined {
  const known = ports.values.eventsOf(parseDeviceId(device));
  if (!known || known.some((one) => (cluster === undefined ? one.endsWith(`/${event}`) : one === `${cluster}/${event}`))) return undefined;
  const names = [...new Set(known.flatMap((one) => one.split('/')[1] ?? []))];
  const name = deviceName(device, ports);
  const why = `${name} sends no event ${event}; its events are: ${names.join(', ') || 'none'}`;
  return { device, why, facts: { case: 'no_event', device: name, event, events: names } };
}

interface Impossible extends Pick<Obstacle, 'why' | 'facts'> {
  readonly kind: 'never_holds' | 'never_comes';
  readonly devices: readonly string[];
  readonly ports: CheckPorts;
}

function impossibleFinding(behaviour: Behaviour, { kind, why, facts, devices, ports }: Impossible): Finding {
  return findingOf(
    {
      kind,
      severity: 'warning',
      behaviours: [behaviour],
      devices,
      timeline: [timelineEntry(behaviour, 'nothing', NEVER)],
      sentence: `${quotedName(behaviour.automation)}: ${why}`,
      facts,
      fix: kind === 'never_holds' ? 'Change the condition, or take it out' : 'Name another sensor, device, event or value',
    },
    ports,
  );
}
