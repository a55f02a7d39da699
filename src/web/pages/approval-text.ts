import { deviceElement, readsIn, targetText, verbOf } from '../../core/devices/action-descriptions.ts';
import type { TargetWords } from '../../core/devices/call-words.ts';
import { isJsonObject, type Json, type JsonSchema } from '../../core/json.ts';
import { escapeAllHidden } from '../../core/untrusted-text.ts';
import type { ApprovalView, DeviceView } from '../api/hub-types.ts';
import { capital, humanWords, withUnit } from '../components/formatting.ts';
import { hasText, languageTag, text } from '../texts/text.ts';

/** An approval request in words for people. */
export interface ApprovalText {
  readonly who: string;
  /** The action, such as `Unlock`. */
  readonly what: string;
  /** Names of the affected devices, each once. */
  readonly devices: readonly string[];
  /** The devices in a short form: up to three names, or the number of devices if there are more. */
  readonly where: string;
  /** The effects, each once, such as `Unlock Front door (hall)`. */
  readonly effects: readonly string[];
  readonly arguments: readonly { readonly name: string; readonly value: string }[];
}

/** The text that the hub sends in place of a secret. */
const SECRET = '[secret]';

/** If a request affects more devices than this, only their number is shown. */
const MAX_NAMED = 3;

/** Returns words for the state of a request that no longer waits. Such a request has expired if its state is still `pending`. */
export function stateWords(state: ApprovalView['state']): string {
  return text(`approvals.state_${state}`);
}

/** Returns what a person sees of a request before deciding. If any of it changes, the person has not seen the request. */
export function shownContent(approval: ApprovalView): string {
  const { approval_id, agent_id, tool, title, params, effects, devices, will_do, needed, given, hub, call_hash, expires_at } = approval;
  const shown = { approval_id, agent_id, tool, title, params, effects, devices, will_do, needed, given, hub, call_hash, expires_at };
  const { answers, runs_when_approved, state } = approval;
  return JSON.stringify({ ...shown, answers, runs_when_approved, state });
}

/** Returns the persons who approved or denied a request, such as ` by ann and ben`. Returns an empty text if nobody has decided yet. */
export function byWords({ approved_by: approvedBy, denied_by: deniedBy }: Pick<ApprovalView, 'approved_by' | 'denied_by'>): string {
  const people = deniedBy === undefined ? [...new Set(approvedBy.map(({ person }) => person))] : [deniedBy];
  return people.length === 0 ? '' : ` ${text('approvals.by', { people: new Intl.ListFormat(languageTag()).format(people) })}`;
}

/** Returns a request in words. `schema` is the schema of the tool's parameters, which contains their units. */
export function approvalText(approval: ApprovalView, devices: readonly DeviceView[], schema?: JsonSchema): ApprovalText {
  const targets = approval.effects.map(({ target }) => target.split('/'));
  const known = [...(approval.devices ?? []), ...devices];
  const reads = readsIn(approval.effects);
  const touched = targets.map(([id = '']) => known.find((device) => device.id === id)?.name).filter((name) => name !== undefined);
  const named =
    typeof approval.params.device_id === 'string' ? devices.find(({ id }) => id === approval.params.device_id)?.name : undefined;
  const names = [...new Set([...touched, ...(named === undefined ? [] : [named])])].map(escapeAllHidden);
  return {
    who: approval.agent_id,
    what: titleWords(approval),
    devices: names,
    where: names.length > MAX_NAMED ? text('approvals.devices_count', { count: names.length }) : names.join(', '),
    effects: [
      ...new Set(
        approval.effects.flatMap(({ target }) => (deviceElement(target) ? [targetText([target], known, { reads, words: WORDS })] : [])),
      ),
    ],
    arguments: Object.entries(approval.params).map(([name, value]) => ({
      name: capital(humanWords(escapeAllHidden(name))),
      value: argumentWords(name, value, schema),
    })),
  };
}

/** Returns what an effect of a call does, such as `Turn off Hall lamp (hall)`, by its target. */
export function effectWords(target: string, devices: readonly DeviceView[]): string {
  return targetText([target], devices, { words: WORDS });
}

/** What a call does to devices, in the language of the page. */
const WORDS: TargetWords = {
  action: (verb, devices) => {
    const key = `calls.do_${keyOf(verb)}`;
    return hasText(key) ? text(key, { devices }) : `${verb} ${devices}`;
  },
  read: (element, devices) => text('calls.read', { element, devices }),
  parts: (device, numbers) =>
    text('calls.parts', { device, count: numbers.length, numbers: new Intl.ListFormat(languageTag()).format(numbers) }),
  pathOf: (path, device) => text('calls.path_of', { path, device }),
  counted: (count, kind, places) => {
    const what = text(`calls.${kind}`, { count });
    return places === undefined ? what : text('calls.in_places', { what, count: places });
  },
  andMore: (names, more) => text('calls.and_more', { names, count: more }),
};

function keyOf(verb: string): string {
  return verb.toLowerCase().replaceAll(' ', '_');
}

/**
 * Returns the title of a request. It is only what the author of the tool chose, so it is put into the language of the page only if it
 * is the verb of everything that the call does.
 */
function titleWords({ title, effects }: ApprovalView): string {
  const verbs = effects.map(({ target }) => {
    const element = deviceElement(target);
    return element && verbOf(element)?.toLowerCase();
  });
  const key = `tiles.short_${keyOf(title)}`;
  const isVerb = verbs.length > 0 && verbs.every((verb) => verb === title.toLowerCase());
  return isVerb && hasText(key) ? text(key) : capital(escapeAllHidden(title));
}

/** Returns how much of a request's lifetime is left, from 0 to 1. */
export function shareLeft({ created_at: createdAt, expires_at: expiresAt }: ApprovalView, nowMs: number): number {
  const endMs = Date.parse(expiresAt);
  const wholeMs = endMs - Date.parse(createdAt);
  return wholeMs <= 0 ? 0 : Math.min(1, Math.max(0, (endMs - nowMs) / wholeMs));
}

function argumentWords(name: string, value: Json, schema: JsonSchema | undefined): string {
  if (value === SECRET) return text('approvals.secret');
  const properties = schema?.properties;
  const property = isJsonObject(properties) ? properties[name] : undefined;
  return withUnit(exactWords(value), isJsonObject(property) ? property['x-unit'] : undefined);
}

/** Returns a value in its exact form, without rounding. A person signs the request, so different values must look different. */
function exactWords(value: Json): string {
  if (typeof value === 'string') return escapeAllHidden(value);
  if (typeof value === 'boolean') return text(value ? 'approvals.yes' : 'approvals.no');
  return value === null ? text('approvals.nothing') : escapeAllHidden(JSON.stringify(value));
}
