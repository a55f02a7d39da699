import { deviceElement } from '../../core/devices/action-descriptions.ts';
import type { ExpectedChange } from '../../core/devices/device-states.ts';
import type { Json } from '../../core/json.ts';
import { isChange, putsSomethingBack, type RestoringCall, refusalOf, type UndoPreview } from '../api/undo.ts';
import { humanWords, readingName, valueWords, whenWords, withUnit } from '../components/formatting.ts';
import { hasText, text } from '../texts/text.ts';
import { shortName } from './audit-rows.ts';

/** What an undo would do, in words for people. */
export interface UndoText {
  /** One line for each device, such as `Kitchen lamp: off → on, Brightness 0 % → 40 %`, and for each call that the undo makes. */
  readonly putsBack: readonly string[];
  /** What may change too without being known before, one line each. */
  readonly mayChange: readonly string[];
  /** What a person has to know before it happens. */
  readonly remarks: readonly string[];
  /** Why it cannot be undone; undefined if it can. */
  readonly refusal: string | undefined;
}

/** Returns what an undo would do. `nameOf` returns what a person calls the device with an id. */
export function undoText(preview: UndoPreview, nameOf: (device: string) => string): UndoText {
  const { outcome, risk, changes, calls } = preview;
  const error = refusalOf(preview);
  const refusal = error && refusalWords(error);
  const known = changes.filter((change) => change.unforeseen !== true && isChange(change));
  const unforeseen = changes.filter((change) => change.unforeseen === true);
  const isNothing = refusal === undefined && !putsSomethingBack(preview) && unforeseen.length === 0;
  return {
    putsBack: [
      ...[...Map.groupBy(known, ({ device_id: id }) => id)].map(([id, own]) => `${nameOf(id)}: ${own.map(valueChange).join(', ')}`),
      ...calls.map((call) => callWords(call, nameOf)),
    ],
    mayChange: unforeseen.map(({ device_id: id, name }) => text('undo.may_change', { name: `${nameOf(id)}: ${readingName(name)}` })),
    remarks: [
      ...(isNothing ? [text('undo.nothing')] : []),
      ...(risk === 'dangerous' ? [dangerWords(preview)] : []),
      ...(outcome === 'needs_approval' ? [text('undo.approval')] : []),
    ],
    refusal,
  };
}

/** Returns what a call brings back. Of a tool without a text here, returns its name and what it acts on. */
function callWords({ tool, effects, places = [] }: RestoringCall, nameOf: (device: string) => string): string {
  const name = shortName(tool);
  const key = `undo.call_${name}`;
  const things = [...effects.map((effect) => thingWords(effect, nameOf)), ...places.map(roomWords)];
  const what = [...new Set(things)].filter((one) => one !== '').join(', ');
  if (hasText(key)) return text(key, { what });
  return what === '' ? humanWords(name) : `${humanWords(name)}: ${what}`;
}

/** Returns what an effect is on: a scene of the hub, a device, or what the permission names, such as a flag or a person. */
function thingWords({ target, permission }: RestoringCall['effects'][number], nameOf: (device: string) => string): string {
  const [, scene] = /\/scene\/([^/]+)$/.exec(target) ?? [];
  if (scene !== undefined) return humanWords(scene);
  const [kind, what, id = ''] = permission.split(':');
  return kind === 'device' || (kind === 'admin' && what === 'device') ? nameOf(id) : humanWords(id);
}

/** Returns the room that a place is about; nothing for other places, of which the effects say what they are. */
function roomWords(place: string): string {
  const [, room = ''] = /^area_names?\/(.+)$/.exec(place) ?? [];
  return humanWords(room.replaceAll('-', ' '));
}

/** The commands that give somebody a way in, or water a way out, by the beginning of their Matter names. */
const OPENS = /^(?:Unlock|Unbolt|Open|UpOrOpen)/;

function dangerWords({ effects }: UndoPreview): string {
  const opens = effects.some(({ target, risk }) => risk === 'dangerous' && OPENS.test(deviceElement(target)?.element ?? ''));
  return text(opens ? 'undo.opens' : 'undo.dangerous');
}

function valueChange({ name, unit, now, expected }: ExpectedChange): string {
  // Whoever may not read the device sees only which value is put back.
  if (expected === undefined) return readingName(name);
  const words = (value: Json | undefined) => (value === undefined ? text('words.unknown') : stateWords(name, value, unit));
  const values = text('undo.from_to', { now: words(now), expected: words(expected) });
  return name === 'is_on' ? values : text('undo.value', { name: readingName(name), values });
}

function stateWords(name: string, value: Json, unit: string): string {
  if (name === 'is_on') return text(value === true ? 'undo.on' : 'undo.off');
  return withUnit(valueWords(value), unit);
}

function refusalWords({ message, details }: NonNullable<UndoPreview['error']>): string {
  const { reason, at, agent_id: agent } = details;
  const when = typeof at === 'string' ? whenWords(at) : undefined;
  if (reason === 'still_running' || reason === 'not_known' || reason === 'not_reported') return text(`undo.${reason}`);
  if (reason === 'already_undone' && when !== undefined) return text('undo.undone_at', { when });
  if (reason !== 'changed_since' || when === undefined) return message;
  if (typeof agent !== 'string') return text('undo.changed_since_somebody', { when });
  return text('undo.changed_since', { agent: humanWords(agent), when });
}
