import { readsIn, targetText } from '../../core/devices/action-descriptions.ts';
import { parseDeviceId } from '../../core/devices/device-names.ts';
import { amount, isSwitched, readableWords } from '../../core/devices/matter-names.ts';
import type { JsonObject } from '../../core/json.ts';
import { resultSchema, TEXT } from '../../tools/definition/define-tool.ts';
import type { CheckPorts } from '../automation-ports.ts';
import { deviceName } from '../home-things.ts';
import type { Act, CheckedStep, ValueChange } from './acts.ts';
import type { Behaviour, CheckedAutomation } from './behaviour.ts';
import { type ShownWindow, type WeekTimes, windowsOf } from './week-times.ts';

/** What can be wrong with an automation. */
export const FINDING_KINDS = [
  'opposite_effects',
  'loop',
  'wear',
  'never_holds',
  'never_comes',
  'lacks_permission',
  'ends_before',
  'waits_at_night',
  'refused_by_rule',
] as const;
type FindingKind = (typeof FINDING_KINDS)[number];

/** `warning`: it happens whenever the automations run. `note`: it may happen, depending on what comes together. */
export const SEVERITIES = ['warning', 'note'] as const;
type Severity = (typeof SEVERITIES)[number];

/** When one automation does something, in the hub's local time. */
interface TimelineEntry {
  readonly agent_id: string;
  readonly does: string;
  /** What it acts on, as in the effects of a call, if it is one act. */
  readonly target?: string;
  readonly windows: readonly ShownWindow[];
}

/** A problem that a check found, in words for people and with what a page needs to draw it. */
export interface Finding {
  readonly kind: FindingKind;
  readonly severity: Severity;
  /** The checked automation, and the other ones that take part. */
  readonly automations: readonly { readonly agent_id: string; readonly name: string }[];
  readonly targets: readonly { readonly id: string; readonly name: string }[];
  readonly timeline: readonly TimelineEntry[];
  readonly sentence: string;
  readonly fix: string;
  /** The facts of the sentence, so that a client can say it in its own language. `case` identifies the sentence. */
  readonly facts: JsonObject & { readonly case: FindingCase };
}

/** The sentences about findings. */
export const FINDING_CASES = [
  'meet',
  'shared',
  'undone',
  'loop',
  'wear',
  'clash',
  'trigger_clash',
  'step_never',
  'no_device',
  'no_sensor',
  'no_value',
  'no_event',
  'may_not_look',
  'step_refused',
  'ends_before',
  'waits_at_night',
  'refused_by_rule',
] as const;
export type FindingCase = (typeof FINDING_CASES)[number];

/** What a search found: the automations that take part, the ids of the devices on which they act, and what to say about it. */
interface Found extends Pick<Finding, 'kind' | 'severity' | 'timeline' | 'sentence' | 'fix' | 'facts'> {
  readonly behaviours: readonly Behaviour[];
  readonly devices: readonly string[];
}

/** Returns the finding about what a search found, with the names of the automations that the caller may see and of the devices. */
export function findingOf({ behaviours, devices, ...said }: Found, ports: Pick<CheckPorts, 'facts'>): Finding {
  const shown = behaviours.filter(({ automation }) => !automation.isHidden);
  const automations = new Map(shown.map(({ automation: { id, name } }) => [id, { agent_id: id, name }]));
  const targets = [...new Set(devices)].map((id) => ({ id, name: deviceName(id, ports) }));
  return { ...said, automations: [...automations.values()], targets };
}

/** Returns the name of an automation in quotation marks; for one that the caller may not see, only that there is one. */
export function quotedName({ name, isHidden }: Pick<CheckedAutomation, 'name' | 'isHidden'>): string {
  return isHidden ? name : JSON.stringify(name);
}

/** Returns what a step does to its target, such as `Turn off Hall lamp (hall)`. */
export function actText({ effect }: ValueChange, { facts }: Pick<CheckPorts, 'facts'>): string {
  const device = effect.device === undefined ? undefined : facts.namedDevice(effect.device);
  return targetText([effect.target], device ? [device] : [], { reads: readsIn([effect]) });
}

/** Returns the new content of a value, such as `on` or `heating setpoint: 21 °C`. */
export function contentText({ value, device, becomes, isCopy }: ValueChange, { values }: Pick<CheckPorts, 'values'>): string {
  const name = readableWords(value.split('/').at(-1) ?? value);
  if (becomes === undefined) return isCopy ? `${name}: as the sensor shows` : `${name}: changed`;
  if (typeof becomes === 'boolean' && isSwitched(name)) return becomes ? 'on' : 'off';
  return `${name}: ${amount(becomes, unitOf({ value, device }, { values }))}`;
}

function unitOf({ value, device }: Pick<ValueChange, 'value' | 'device'>, { values }: Pick<CheckPorts, 'values'>): string | undefined {
  const [, endpoint, name = value] = value.split('/');
  return values.unitOf({ device: parseDeviceId(device), endpoint: Number(endpoint), name });
}

/** Returns the new content of a value as a fact: absent if it is not known before the run. */
export function contentFact(act: ValueChange, ports: Pick<CheckPorts, 'values'>): JsonObject {
  const { value, becomes } = act;
  const unit = unitOf(act, ports);
  return {
    value: value.split('/').at(-1) ?? value,
    ...(becomes !== undefined && { becomes }),
    ...(becomes !== undefined && unit !== undefined && { unit }),
  };
}

/** Returns a step as a fact: by what it acts on, as in the effects of a call; by its tool if that is not known. */
export function stepFact({ tool, acts: [first] }: Pick<CheckedStep, 'tool' | 'acts'>): JsonObject {
  return first ? { target: first.effect.target } : { tool };
}

/** Returns times of the week as a fact. */
export function timesFact(times: WeekTimes): readonly JsonObject[] {
  return windowsOf(times).map(({ days, from, to }) => ({ days, from, to }));
}

/** Returns a line of the timeline: when an automation does an act. */
export function actEntry(behaviour: Behaviour, act: Act, { times, ports }: ActTimes): TimelineEntry {
  return { ...timelineEntry(behaviour, actText(act, ports), times), target: act.effect.target };
}

interface ActTimes {
  readonly times: WeekTimes;
  readonly ports: Pick<CheckPorts, 'facts'>;
}

/** Returns a line of the timeline: when an automation does what. */
export function timelineEntry({ automation }: Behaviour, does: string, times: WeekTimes): TimelineEntry {
  return { agent_id: automation.id, does, windows: windowsOf(times) };
}

const WINDOWS = {
  type: 'array',
  items: resultSchema({ days: { type: 'array', items: TEXT }, from: TEXT, to: TEXT }),
  description: "In the hub's local time. A window whose end is not after its start ends on the next day",
} as const;

/** Schema of findings, the gravest first. */
export const FINDINGS = {
  type: 'array',
  description: 'What may go wrong with it, the gravest first. warning: whenever it runs; note: depending on what comes together',
  items: resultSchema({
    kind: { enum: FINDING_KINDS },
    severity: { enum: SEVERITIES },
    automations: { type: 'array', items: resultSchema({ agent_id: TEXT, name: TEXT }) },
    targets: { type: 'array', items: resultSchema({ id: TEXT, name: TEXT }) },
    timeline: { type: 'array', items: resultSchema({ agent_id: TEXT, does: TEXT, target: TEXT, windows: WINDOWS }, ['target']) },
    sentence: TEXT,
    fix: TEXT,
    facts: { type: 'object', description: 'What the sentence says; case names the sentence, so that it can be told in any language' },
  }),
} as const;
