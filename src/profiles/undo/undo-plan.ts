import { hash } from 'node:crypto';
import type { Effect } from '../../core/auth/principal.ts';
import type { DeviceAccess } from '../../core/devices/device-directory.ts';
import { KEPT_BY_HUB } from '../../core/devices/device-model.ts';
import { parseDeviceId } from '../../core/devices/device-names.ts';
import { AtmoError } from '../../core/errors.ts';
import type { DeviceId } from '../../core/ids.ts';
import type { Json } from '../../core/json.ts';
import { quoted } from '../../core/untrusted-text.ts';
import type { InnerCall } from '../../tools/definition/tool-definition.ts';
import type { CompiledValue } from '../compile/cluster-view.ts';
import type { CompiledDevice, CompiledDevices } from '../compile/compiled-device.ts';
import type { ValueChange } from '../compile/step-outcome.ts';
import type { Member } from '../tools/member-calls.ts';
import { toolEffects } from '../tools/run-device-tool.ts';
import { type AffectedDevice, affectedDevices, irreversibleEffect } from './affected-devices.ts';
import { inversePlan } from './inverse-plan.ts';
import { type Expiry, expiryOf } from './kept-values.ts';
import { isSameValue } from './predicted-state.ts';
import { isRestoredByCall, type RestorationPorts, restorations } from './restorations.ts';
import { deviceEffect, isActing, pathOf, touchedValues } from './touched-values.ts';
import { type AuditedCalls, type TracedCall, UNDO_DAYS } from './traced-calls.ts';
import { changedSince, irreversible } from './undo-errors.ts';

/** Name of the tool that undoes calls. */
export const UNDO = 'undo';

/** Most later calls whose end is read. If so many failed and changed nothing, the next one counts as a change. */
const MAX_ENDS_READ = 20;

/** The services with which calls are planned that undo others. */
export interface UndoPlanPorts extends RestorationPorts {
  readonly audited: AuditedCalls;
  readonly devices: Pick<CompiledDevices, 'get'>;
  readonly access: Pick<DeviceAccess, 'isCurrent'>;
  /** Returns whether a tool acts only by calling other tools, whose calls are in the audit log too. */
  readonly isComposed: (toolId: string) => boolean;
}

/** What brings back what the calls of a trace changed. */
export interface UndoPlan {
  /** The calls that are undone, the oldest first. */
  readonly calls: readonly TracedCall[];
  readonly devices: readonly DeviceId[];
  /** The devices that need calls, with these calls. */
  readonly members: readonly Member[];
  /** The calls that bring back what is no value of a device. */
  readonly restoring: readonly InnerCall[];
  /** The other hubs that ran calls of the trace. */
  readonly hubs: readonly string[];
  /** Digest of the calls that the plan makes. */
  readonly content: string;
}

/** Returns whether the caller may read the values of a device. Without that, error messages do not contain them. */
export type MayRead = (device: DeviceId) => boolean;

/** The call that undoes. */
export interface UndoingCall {
  readonly traceId: string;
  /** Its own request; absent before it runs. */
  readonly own?: string;
  /** Whether errors may name other callers. */
  readonly showsAgents: boolean;
}

/** Returns the devices that the calls touched here, also those that are no longer there. */
export function touchedDevices(calls: readonly TracedCall[]): readonly DeviceId[] {
  const effects = calls.flatMap((call) => (call.hub === undefined ? call.effects : []));
  return [...new Set(effects.flatMap(({ device }) => (device === undefined ? [] : parseDeviceId(device))))];
}

/**
 * Returns the plan that undoes the calls of a trace, as the devices are now. Throws NOT_SUPPORTED if something cannot be put back, CONFLICT if
 * a call still runs or a value is no longer as the calls left it, and DEVICE_UNREACHABLE if the present state of a device is not known.
 */
export function undoPlan(ports: UndoPlanPorts, calls: readonly TracedCall[], mayRead: MayRead): UndoPlan {
  requireEnded(calls);
  const own = calls.filter(({ hub }) => hub === undefined);
  const here = own.filter((call) => !isRestoredByCall(call));
  requireKeptEffects(ports, here);
  const restoring = restorations(ports, own);
  const affected = affectedDevices(
    ports.devices,
    here.flatMap(({ effects }) => effects),
  );
  requireKnownDevices(ports, here);
  const members = affected.flatMap((one) => memberOf(ports, one, { calls: here, mayRead }) ?? []);
  return {
    calls,
    devices: affected.map(({ compiled }) => compiled.device.id),
    members,
    restoring,
    hubs: [...new Set(calls.flatMap(({ hub }) => hub ?? []))],
    content: digestOf(members, restoring),
  };
}

/** Throws CONFLICT if a later call may have changed what the plan would change. */
export function requireUntouched(
  { audited }: Pick<UndoPlanPorts, 'audited'>,
  { calls, devices }: Pick<UndoPlan, 'calls' | 'devices'>,
  undoing: UndoingCall,
): void {
  const [first] = calls;
  const places = calls.some(isRestoredByCall) ? [...devices, KEPT_BY_HUB] : devices;
  if (!first || places.length === 0) return;
  const known = new Set(calls.map(({ seq }) => seq));
  const paths = new Set(calls.flatMap(({ before }) => pathsIn(before)));
  let endsRead = 0;
  for (const call of audited.after(first.seq, places)) {
    const isUndo = isUndoOf(call, undoing.traceId);
    const isOwn = isUndo && call.request === undoing.own;
    if (known.has(call.seq) || isOwn || !mayTouch(call, { paths, devices }) || !isAfter(call, calls)) continue;
    if (++endsRead > MAX_ENDS_READ) throw changedByLater(call, undoing);
    const ended = audited.ended(call);
    if (!isUndo) {
      if (ended.isCutShort || changedPaths(ended).some((path) => paths.has(path))) throw changedByLater(call, undoing);
    } else if (ended.state === 'running' || putsBack(ended, calls)) throw alreadyUndone(call);
  }
}

/** Returns whether a call may have changed one of the values. If the journal does not have its effects, it may have. */
function mayTouch(
  { before, effects, isCutShort }: TracedCall,
  own: { readonly paths: ReadonlySet<string>; readonly devices: readonly string[] },
) {
  if (!isCutShort) return pathsIn(before).some((path) => own.paths.has(path));
  return effects.length === 0 || effects.some(({ device }) => device !== undefined && own.devices.includes(device));
}

/** Returns whether an undo brought all values back that it meant to bring back. What it did not bring back can be undone again. */
function putsBack({ before, after = {}, state }: TracedCall, calls: readonly TracedCall[]): boolean {
  if (state !== 'succeeded') return false;
  return Object.entries(before).every(([device, values]) =>
    Object.keys(values).every((path) => {
      const wanted = valueBefore(calls, device, path);
      const now = after[device]?.[path];
      return wanted === undefined || now === undefined || isSameValue(now, wanted);
    }),
  );
}

/** Returns a value as it was before all of the calls: the first call that touched it knows that. A raw value may be null. */
function valueBefore(calls: readonly TracedCall[], device: string, path: string): Json | undefined {
  return calls.find(({ before }) => before[device]?.[path] !== undefined)?.before[device]?.[path];
}

/** Returns whether the call is later than a call of the trace that touched the same values. */
function isAfter(call: TracedCall, calls: readonly TracedCall[]): boolean {
  if (call.isCutShort) return true;
  const paths = new Set(pathsIn(call.before));
  return calls.some((one) => one.seq < call.seq && pathsIn(one.before).some((path) => paths.has(path)));
}

/** Returns the paths of the values that a call changed or may have changed. A call that failed and left all as it was changed none. */
function changedPaths({ before, after, state }: TracedCall): readonly string[] {
  if (state !== 'failed' || !after) return pathsIn(before);
  return Object.entries(before).flatMap(([device, values]) =>
    Object.entries(values).flatMap(([path, raw]) => (isSameValue(after[device]?.[path] ?? null, raw) ? [] : [`${device}/${path}`])),
  );
}

function pathsIn(state: TracedCall['before']): readonly string[] {
  return Object.entries(state).flatMap(([device, values]) => Object.keys(values).map((path) => `${device}/${path}`));
}

/**
 * Returns the calls of a trace that have not been undone. A caller may give the call that undoes the trace that it undoes. Throws NOT_FOUND if
 * no call of the trace acted.
 */
export function callsToUndo({ audited, isComposed }: UndoPlanPorts, traceId: string): readonly TracedCall[] {
  const calls = audited.ofTrace(traceId);
  const undone = calls.findLast((call) => isUndoOf(call, traceId) && putsBack(call, calls))?.seq ?? 0;
  const acted = calls.filter((call) => call.seq > undone && !isUndoOf(call, traceId) && hasActed(call));
  if (acted.some((call) => !isComposed(call.tool))) return acted;
  throw new AtmoError(
    'NOT_FOUND',
    `No call of the last ${UNDO_DAYS} days with this trace id changed anything that is not undone yet; the journal has the trace ids`,
  );
}

function hasActed(call: TracedCall): boolean {
  return call.hub !== undefined || isRestoredByCall(call) || call.effects.some(isActing);
}

function isUndoOf({ tool, params }: TracedCall, traceId: string): boolean {
  return tool.startsWith(`hub:${UNDO}@`) && params.trace_id === traceId;
}

function requireEnded(calls: readonly TracedCall[]): void {
  const running = calls.find(({ state }) => state === 'running');
  if (running) throw new AtmoError('CONFLICT', `${running.tool} still runs; undo it when it has ended`, { reason: 'still_running' });
}

/** Throws NOT_SUPPORTED if a call did something whose state before the log does not have. */
function requireKeptEffects({ isComposed }: UndoPlanPorts, calls: readonly TracedCall[]): void {
  for (const call of calls) {
    if (call.isCutShort) throw irreversible(`The journal could not keep all that ${call.tool} changed, because it was too much`);
    const other = call.effects.find((effect) => isActing(effect) && !deviceEffect(effect));
    if (other && !isComposed(call.tool)) throw irreversible(`What ${call.tool} did cannot be undone`);
  }
}

function requireKnownDevices({ devices }: UndoPlanPorts, calls: readonly TracedCall[]): void {
  const gone = calls.flatMap(({ effects }) => effects).find(({ device }) => device !== undefined && !devices.get(parseDeviceId(device)));
  if (gone) throw irreversible(`The device ${gone.device} is no longer there`);
}

/** Returns the calls that a device needs; undefined if it is as it was before. */
function memberOf(
  ports: Pick<UndoPlanPorts, 'audited' | 'access'>,
  affected: AffectedDevice,
  { calls, mayRead }: { readonly calls: readonly TracedCall[]; readonly mayRead: MayRead },
): Member | undefined {
  const { compiled, kept } = affected;
  const { id: device, name } = compiled.device;
  const reason = irreversibleEffect(affected);
  if (reason !== undefined) throw irreversible(`${quoted(name)}: ${reason}`);
  if (!ports.access.isCurrent(device)) throw notReportedYet(name);
  const own = calls.filter(({ effects }) => effects.some((effect) => effect.device === device));
  const before = kept.map((value) => [value, wantedOf(value, compiled, own)] as const);
  const isOver = (call: TracedCall, seconds: number) => ports.audited.secondsSince(call) >= seconds;
  for (const [value, raw] of before) requireAsLeft(compiled, value, { calls: own, before: raw, showsValues: mayRead(device), isOver });
  const plan = inversePlan(compiled, { wanted: new Map(before.map(([value, raw]) => [pathOf(value), raw])) });
  if ('obstacle' in plan) throw irreversible(`${quoted(name)}: ${plan.obstacle}`);
  if (plan.calls.length === 0) return undefined;
  const effects = plan.calls.flatMap(({ tool, params }) => toolEffects(compiled, tool, params));
  return { device, name, work: { compiled, delegations: plan.calls, effects } };
}

function wantedOf(value: CompiledValue, { device }: CompiledDevice, calls: readonly TracedCall[]): Json {
  const raw = valueBefore(calls, device.id, pathOf(value));
  if (raw !== undefined) return raw;
  throw irreversible(`${quoted(device.name)}: its ${value.title.toLowerCase()} was not known before the call`);
}

/** What is known of a value beside its present state: the calls that touched its device, and how it was before them. */
interface ValueHistory {
  readonly calls: readonly TracedCall[];
  readonly before: Json;
  readonly showsValues: boolean;
  readonly isOver: (call: TracedCall, seconds: number) => boolean;
}

/**
 * Throws CONFLICT if a value is neither as it was before the calls, nor as they left it, nor as they wanted it, nor as it is when the time of
 * a call is over. If it is not known how they left a value and what they wanted, any value counts as theirs.
 */
function requireAsLeft(compiled: CompiledDevice, value: CompiledValue, { calls, before, showsValues, isOver }: ValueHistory): void {
  const path = pathOf(value);
  const touching = (effect: Effect) => touches(compiled, effect, path);
  const now = compiled.live(value.endpoint, value.cluster, value.attribute);
  const last = calls.findLast(({ effects }) => effects.some(touching));
  if (now === undefined || last === undefined || isSameValue(now, before)) return;
  const wanted = last.effects.findLast(touching)?.values?.[value.name];
  if (wanted !== undefined && value.shows(now, wanted)) return;
  if (expiries(compiled, last).some(({ seconds, changes }) => isOver(last, seconds) && changes.some((one) => leaves(one, path, now))))
    return;
  const left = last.after?.[compiled.device.id]?.[path];
  if (left === undefined ? wanted === undefined : isSameValue(now, left)) return;
  throw notAsLeft(compiled, value, {
    left: left === undefined ? JSON.stringify(wanted) : shown(value, left),
    ...(showsValues && { now }),
  });
}

function expiries(compiled: CompiledDevice, { effects }: TracedCall): readonly Expiry[] {
  const own = effects.filter(({ device }) => device === compiled.device.id);
  return own.flatMap((effect) => deviceEffect(effect) ?? []).flatMap((one) => expiryOf(compiled, one) ?? []);
}

function leaves({ value, raw }: ValueChange, path: string, now: Json): boolean {
  return raw !== undefined && pathOf(value) === path && isSameValue(raw, now);
}

/** Returns the error for a value that somebody has changed. Without `now`, it contains no values. */
function notAsLeft(
  { device }: CompiledDevice,
  value: CompiledValue,
  { left, now }: { readonly left: string; readonly now?: Json },
): AtmoError {
  const title = value.title.toLowerCase();
  const what = now === undefined ? `${title} is not as it was after this` : `${title} is ${shown(value, now)}, and was ${left} after this`;
  return new AtmoError(
    'CONFLICT',
    `${quoted(device.name)}: ${what}. Somebody has changed it since, or it is still moving. Nothing was undone`,
    { reason: 'changed_since', device: device.id, value: value.name, ...(now !== undefined && { now: value.toHuman(now) }) },
  );
}

function touches(compiled: CompiledDevice, effect: Effect, path: string): boolean {
  const known = deviceEffect(effect);
  return (
    known !== undefined && effect.device === compiled.device.id && touchedValues(compiled, known).some((value) => pathOf(value) === path)
  );
}

function shown(value: CompiledValue, raw: Json): string {
  return `${JSON.stringify(value.toHuman(raw))}${value.unit === '' ? '' : ` ${value.unit}`}`;
}

function digestOf(members: readonly Member[], restoring: readonly InnerCall[]): string {
  const calls = members.map(({ device, work }) => ({
    device,
    calls: 'skipped' in work ? [] : work.delegations.map(({ tool, params }) => ({ key: tool.key, params })),
  }));
  return hash('sha256', JSON.stringify(restoring.length === 0 ? calls : [calls, restoring]), 'hex').slice(0, 16);
}

/** Returns the error for a device whose present values the hub does not know, as just after its start: somebody may have changed them. */
function notReportedYet(name: string): AtmoError {
  return new AtmoError(
    'DEVICE_UNREACHABLE',
    `${quoted(name)} has not reported its present state since it was last silent; nothing was undone, try again in a moment`,
    { reason: 'not_reported' },
  );
}

function alreadyUndone({ at }: TracedCall): AtmoError {
  return new AtmoError('CONFLICT', `This was undone at ${at} already; to do it again, undo that call`, { reason: 'already_undone', at });
}

function changedByLater({ tool, agent, at }: TracedCall, { showsAgents }: Pick<UndoingCall, 'showsAgents'>): AtmoError {
  const who = showsAgents ? agent : 'another caller';
  return changedSince(`${who} has changed the same since, at ${at} with ${tool}`, { at, tool, ...(showsAgents && { agent_id: agent }) });
}
