import type { Json, JsonObject } from '../../core/json.ts';
import type { ReadingView, ToolView } from '../api/hub-types.ts';
import type { FieldKind, FieldPath, FormField, NamedOption } from '../components/schema-fields.ts';
import { text } from '../texts/text.ts';
import { dayWords, WEEKDAYS } from './automation-words.ts';

/** What a form needs to know of the home. */
export interface FormHome {
  readonly sensors: readonly NamedOption[];
  readonly devices: readonly NamedOption[];
  readonly people: readonly NamedOption[];
  /** Names of the modes of the house that are set. */
  readonly flags: readonly string[];
  readonly reading: (id: string) => ReadingView | undefined;
  /** Returns the tool that a call names; undefined if it is not known. */
  readonly tool: (name: string) => ToolView | undefined;
  /** The answers to the questions of the automation, each as the expression that is true for it. */
  readonly answers: readonly NamedOption[];
}

/** Where a part stands, and in which home. */
export interface Place {
  readonly path: FieldPath;
  readonly part: JsonObject;
  readonly home: FormHome;
}

/** A member that the form shows. */
export type Member =
  | 'above'
  | 'after'
  | 'after_offset_minutes'
  | 'answers'
  | 'at'
  | 'becomes'
  | 'before'
  | 'before_offset_minutes'
  | 'below'
  | 'cooldown_seconds'
  | 'days'
  | 'device_id'
  | 'equals'
  | 'event'
  | 'expr'
  | 'flag'
  | 'for_seconds'
  | 'hysteresis'
  | 'is'
  | 'late_seconds'
  | 'max_age_seconds'
  | 'max_runs_per_hour'
  | 'message'
  | 'name'
  | 'offset_minutes'
  | 'on_error'
  | 'on_timeout'
  | 'params'
  | 'person'
  | 'question'
  | 'seconds'
  | 'sensor_id'
  | 'timeout_seconds'
  | 'urgency'
  | 'value';

type Need = 'needed' | 'optional';
type Traits = FieldKind & Partial<Pick<FormField, 'unit' | 'help' | 'fallback'>>;

/** Returns the field of a member of the part at a path. */
export function field(
  member: Member,
  traits: Traits,
  { path, need = 'optional' }: { readonly path: FieldPath; readonly need?: Need },
): FormField {
  return { ...traits, path: [...path, member], label: text(`form.${member}`), isRequired: need === 'needed' };
}

export const number = (unit?: string): Traits => ({ kind: 'number', isWhole: false, ...(unit !== undefined && unit !== '' && { unit }) });
const whole = (bounds: { readonly min?: number; readonly max?: number }, unit?: string): Traits => ({
  ...{ kind: 'number', isWhole: true, ...bounds },
  ...(unit !== undefined && { unit }),
});
export const line = (help?: string): Traits => ({ kind: 'text', isSecret: false, isLong: false, ...(help !== undefined && { help }) });
export const LONG: Traits = { kind: 'text', isSecret: false, isLong: true, maxLength: 500 };
export const CLOCK: Traits = { kind: 'clock' };
export const DURATION: Traits = { kind: 'duration' };

/** Returns a choice between texts, each with its title. `none` is what it means without a value. */
export function namedChoice<Value extends string>(values: readonly Value[], title: (value: Value) => string, none?: string): Traits {
  return { kind: 'named', options: values.map((value) => ({ value, title: title(value) })), ...(none !== undefined && { none }) };
}

export function weekdays(): Traits {
  const options = WEEKDAYS.map((value) => ({ value, title: dayWords([value]) }));
  return { kind: 'some', options, help: text('form.days_none') };
}

const SUN_EVENTS = ['sunrise', 'sunset', 'dawn', 'dusk'] as const;
export const sunEvents = (none?: string): Traits => namedChoice(SUN_EVENTS, (event) => text(`automations.sun_${event}`), none);
const OFFSET = { min: -720, max: 720 };
export const minutes = (): Traits => ({ ...whole(OFFSET, 'min'), help: text('form.offset_help') });

export function sensors({ sensors: options }: FormHome): Traits {
  return { kind: 'named', options };
}

export function devices({ devices: options }: FormHome): Traits {
  return { kind: 'named', options };
}

export function people({ people: options }: FormHome, none: string): Traits {
  return { kind: 'named', options, none };
}

export function flagName({ flags }: FormHome): Traits {
  return line(flags.length === 0 ? undefined : text('form.flag_help', { flags: flags.join(', ') }));
}

/** Returns a field for a value of the same type as an example. */
export function likeValue(example: Json | undefined): Traits {
  if (typeof example === 'boolean') return { kind: 'flag' };
  return typeof example === 'number' ? number() : line();
}

const REACHABLE = ['reachable', 'unreachable'] as const;
export const reachable = (): Traits => namedChoice(REACHABLE, (value) => text(`form.is_${value}`));
export const PLACES = ['home', 'away'] as const;

const ON_TIMEOUT = ['stop', 'continue'] as const;
export const onTimeout = (): Traits => namedChoice(ON_TIMEOUT, (value) => text(`form.timeout_${value}`), text('form.timeout_stop'));
export const URGENCIES = ['low', 'medium', 'high'] as const;

/** Returns the fields of the limits of an automation. */
export function limitFields(): readonly FormField[] {
  return [
    field('cooldown_seconds', { ...DURATION, fallback: 10 }, { path: [] }),
    field('max_runs_per_hour', { ...whole({ min: 1, max: 3600 }), fallback: 60 }, { path: [] }),
  ];
}
