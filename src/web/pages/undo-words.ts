import { deviceElement } from '../../core/devices/action-descriptions.ts';
import type { ExpectedChange } from '../../core/devices/device-states.ts';
import type { Json } from '../../core/json.ts';
import { isChange, type UndoPreview } from '../api/undo.ts';
import { humanWords, readingName, valueWords, whenWords } from '../components/formatting.ts';
import { text } from '../texts/text.ts';

/** What an undo would do, in words for people. */
export interface UndoText {
  /** One line for each device, such as `Kitchen lamp: off → on, Brightness 0 % → 40 %`. */
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
  const { outcome, risk, changes, error } = preview;
  const refusal = error && refusalWords(error);
  const known = changes.filter((change) => change.unforeseen !== true && isChange(change));
  const unforeseen = changes.filter((change) => change.unforeseen === true);
  const isNothing = refusal === undefined && known.length === 0 && unforeseen.length === 0;
  return {
    putsBack: [...Map.groupBy(known, ({ device_id: id }) => id)].map(([id, own]) => `${nameOf(id)}: ${own.map(valueChange).join(', ')}`),
    mayChange: unforeseen.map(({ device_id: id, name }) => text('undo.may_change', { name: `${nameOf(id)}: ${readingName(name)}` })),
    remarks: [
      ...(isNothing ? [text('undo.nothing')] : []),
      ...(risk === 'dangerous' ? [dangerWords(preview)] : []),
      ...(outcome === 'needs_approval' ? [text('undo.approval')] : []),
    ],
    refusal,
  };
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
  return unit === '' ? valueWords(value) : `${valueWords(value)} ${unit}`;
}

function refusalWords({ message, details }: NonNullable<UndoPreview['error']>): string {
  const { reason, at, agent_id: agent } = details;
  const when = typeof at === 'string' ? whenWords(at) : undefined;
  if (reason === 'still_running') return text('undo.still_running');
  if (reason === 'already_undone' && when !== undefined) return text('undo.undone_at', { when });
  if (reason !== 'changed_since' || when === undefined) return message;
  if (typeof agent !== 'string') return text('undo.changed_since_somebody', { when });
  return text('undo.changed_since', { agent: humanWords(agent), when });
}
