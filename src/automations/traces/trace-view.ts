import { type Authorizer, isSelfOrDescendant, type Principal } from '../../core/auth/principal.ts';
import { isoTime } from '../../core/clock.ts';
import { type Json, type JsonObject, objectOf, objectsOf } from '../../core/json.ts';
import type { CheckPorts } from '../automation-ports.ts';
import { deviceName, sensorName } from '../home-things.ts';
import { canObserve, usedBy } from '../observed.ts';
import type { SimpleCondition } from '../plan/condition-schema.ts';
import type { Trigger } from '../plan/trigger-schema.ts';
import type { Moment } from './explain.ts';
import { outcomeOf } from './trace.ts';

type NamePorts = Pick<CheckPorts, 'facts' | 'readings'>;

interface Viewer {
  /** Id of the automation. */
  readonly agentId: string;
  readonly principal: Principal;
  readonly ports: NamePorts & { readonly authorizer: Authorizer };
}

/** A moment as a caller may see it, with names beside ids. */
export interface MomentView {
  readonly moment: Moment;
  readonly trigger: JsonObject | undefined;
  /** The conditions that kept it from running, without those that the caller may not look at. */
  readonly unmet: readonly JsonObject[];
  readonly facts: JsonObject;
  /** True if a condition or the trigger is left out, because the caller may not look at it. */
  readonly isHidden: boolean;
}

/** Facts that show nothing of what a trigger looks at. */
const OPEN_FACTS = [
  'given_up',
  'waited_for',
  'until',
  'failures',
  'by',
  'reason',
  'from',
  'to',
  'cooldown_seconds',
  'max_runs_per_hour',
  'waited_seconds',
];
/** What a run did and where it failed. Texts of errors may name devices and their values. */
const RUN_FACTS = ['code', 'step', 'tool', 'message', 'answer', 'asked'];

/**
 * Returns a moment as a caller may see it; undefined if the caller may see nothing of it: that a trigger nearly fired would reveal something
 * about a sensor that the caller may not read.
 */
export function viewOf(moment: Moment, viewer: Viewer): MomentView | undefined {
  const { trigger, facts: stored, cause } = moment;
  const seesTrigger = trigger === undefined || isVisible(trigger, viewer);
  if (!seesTrigger && outcomeOf(cause) === 'not_triggered') return undefined;
  const { unmet: conditions, ...facts } = stored;
  const seesRun = mayReadRuns(viewer);
  const isShown = (name: string) => (RUN_FACTS.includes(name) ? seesRun : seesTrigger || OPEN_FACTS.includes(name));
  const all = objectsOf(conditions);
  // An expression may be about the value of the trigger.
  const unmet = all.filter(({ condition }) => {
    const about = objectOf(condition);
    return (seesTrigger || about.type !== 'expression') && isVisible(about, viewer);
  });
  return {
    moment: seesRun ? moment : withoutRun(moment),
    trigger: trigger && (seesTrigger ? named(trigger, viewer.ports) : { type: trigger.type ?? null }),
    unmet: unmet.map((one) => ({ ...one, condition: named(objectOf(one.condition), viewer.ports) })),
    facts: Object.fromEntries(Object.entries(facts).filter(([name]) => isShown(name))),
    isHidden: !seesTrigger || unmet.length < all.length,
  };
}

/** Returns whether the viewer may observe what a trigger or condition is about. The casts are safe because traces hold them as plans have them. */
function isVisible(about: JsonObject, { principal, ports: { authorizer } }: Viewer): boolean {
  const observed = about.type === 'expression' ? usedBy([String(about.expr)]) : [about as unknown as Trigger | SimpleCondition];
  return observed.every((one) => canObserve(one, principal, authorizer));
}

function named(about: JsonObject, ports: NamePorts): JsonObject {
  const { sensor_id: sensor, device_id: device } = about;
  return {
    ...about,
    ...(typeof sensor === 'string' && { sensor_name: sensorName(sensor, ports) }),
    ...(typeof device === 'string' && { device_name: deviceName(device, ports) }),
  };
}

/** Returns whether a caller may read what the runs did: who may only set the automation off, such as a doorbell, may not. */
function mayReadRuns({ agentId, principal, ports: { authorizer } }: Viewer): boolean {
  const isKin = principal.kind === 'agent' && isSelfOrDescendant(agentId, principal.id);
  return isKin || authorizer.authorize(principal, ['admin:agents']).allowed;
}

function withoutRun({ runId: _runId, ...moment }: Moment): Moment {
  return moment;
}

/** Returns a moment for the answer of the tool. */
export function momentJson({ moment, trigger, unmet, facts }: MomentView, summary: string): JsonObject {
  const { id, cause, atMs, lastMs, count, runId } = moment;
  const [first] = unmet;
  const seen = objectOf(first?.seen);
  const value: Json | undefined = first ? seen.value : facts.value;
  const unit = first ? seen.unit : facts.unit;
  return {
    summary,
    outcome: outcomeOf(cause),
    cause,
    at: isoTime(atMs),
    ...(lastMs > atMs && { last_at: isoTime(lastMs) }),
    count,
    ...(id !== undefined && { id }),
    ...(trigger && { trigger }),
    ...(first && { condition: first.condition ?? null, conditions: unmet }),
    ...(value !== undefined && { value }),
    ...(unit !== undefined && unit !== '' && { unit }),
    ...(typeof facts.step === 'string' && { step: facts.step }),
    ...(runId !== undefined && { trace_id: runId }),
    facts,
  };
}
