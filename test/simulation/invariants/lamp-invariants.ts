import type { Json } from '../../../src/core/json.ts';
import { BrokenInvariant } from '../broken-invariant.ts';
import type { LampChange, LampCommand, LampState, SimulatedLamp } from '../devices/simulated-lamp.ts';

/** A call of people that may send commands to a lamp. */
interface Asked {
  readonly trace: string;
  readonly timeoutMs: number;
  /** The commands that the hub has sent for it. */
  readonly sent: Set<string>;
  /** When the hub had the call. Milliseconds of the world. */
  arrivedMs?: number;
}

/** A call that sets the brightness of a lamp. */
export interface LampCall extends Asked {
  readonly lamp: SimulatedLamp;
  readonly percent: number;
  /** When its answer was there. */
  answeredMs?: number;
  /** Body of the answer; undefined if none came. */
  answer?: ReturnType<typeof JSON.parse>;
  /** Whether an answer said that it was undone. */
  isUndone?: boolean;
}

/** A call that undoes another one. */
export interface Undo extends Asked {
  readonly call: LampCall;
  answeredMs?: number;
  answer?: ReturnType<typeof JSON.parse>;
}

/** A hub knows of a change at a lamp after so many milliseconds, while no message is lost. */
const REPORTED_MS = 10_000;

/** A hub sends a command to a lamp only for a call that still has time, and once. Throws BrokenInvariant. */
export function checkCommand(
  { command, atMs }: { readonly command: LampCommand; readonly atMs: number },
  asked: readonly (LampCall | Undo)[],
): void {
  const text = `${command.name} ${JSON.stringify(command.fields)}`;
  const all = asked.filter((one) => mayBeOf(command, one));
  const open = all.filter(({ arrivedMs = Number.POSITIVE_INFINITY, timeoutMs }) => arrivedMs <= atMs && atMs <= arrivedMs + timeoutMs);
  const last = open.at(-1) ?? all.at(-1);
  if (!last)
    throw new BrokenInvariant('a command has a call', `nobody asked ${command.device} for ${text} at ${atMs} ms`, [command.device]);
  if (open.length === 0) fail('nothing happens late', last, `${command.device} is sent ${text} at ${atMs} ms`);
  const first = open.find(({ sent }) => !sent.has(text));
  if (!first) fail('a command is sent once', last, `${command.device} is sent ${text} again at ${atMs} ms`);
  first.sent.add(text);
}

/** Returns whether a command may be one of a call. An undo may send anything. */
function mayBeOf({ device, fields }: LampCommand, asked: LampCall | Undo): boolean {
  const { lamp, percent } = 'call' in asked ? { ...asked.call, percent: undefined } : asked;
  return lamp.device.id === device && (percent === undefined || percent === percentOfLevel(fields.level));
}

/** The answer to a call is what was at the lamp. Throws BrokenInvariant. */
export function checkBrightness(call: LampCall): void {
  const { lamp, percent, arrivedMs, answeredMs = 0 } = call;
  const result = call.answer?.result;
  if (arrivedMs === undefined || call.answer?.status !== 'success') return;
  const during = statesBetween(lamp, arrivedMs, answeredMs);
  const shown = (state: LampState) => state['OnOff/OnOff'] === true && percentOf(state) === percent;
  if (result.settled === true && !during.some(shown)) fail('what is said to be settled is so', call, `${lamp.device.id} never showed it`);
  if (result.settled === false && during.every(shown)) fail('what is said not to be settled is not', call, 'it was so all the time');
}

/** An undo puts back what was before, only if nobody has changed it since, and only once. */
export function checkUndo(undo: Undo): void {
  const { call, arrivedMs, answeredMs = 0, answer } = undo;
  // If the device shows already what was before, as after a command that never came there, nothing has to be undone.
  if (answer?.status !== 'success' || !(answer.result?.counts.settled > 0) || arrivedMs === undefined) return;
  if (call.isUndone) fail('a call is undone once', undo, `an answer said so before`);
  call.isUndone = true;
  const { changes } = call.lamp;
  const [own] = commandsOf(call);
  if (!own) fail('only what happened is undone', undo, `${call.lamp.device.id} never got the command`);
  const index = changes.indexOf(own);
  // What somebody changes before the answer counts for the hub as what the call has left.
  const left = [own.after, ...statesBetween(call.lamp, own.atMs, call.answeredMs ?? own.atMs)];
  // A hub may not know yet what a hand did just before the undo.
  const known = statesBetween(call.lamp, arrivedMs - REPORTED_MS, arrivedMs);
  if (!known.some((state) => isAsLeft(state, { before: own.before, left })))
    fail('an undo changes nothing that was changed since', undo, `${call.lamp.device.id} showed ${JSON.stringify(known)} at last`);
  const before = changes[index - 1];
  // A hub may not know yet what a hand did just before the call.
  if (before && own.atMs - before.atMs < REPORTED_MS) return;
  const isBack = statesBetween(call.lamp, arrivedMs, answeredMs).some((state) => isSame(state, own.before));
  if (!isBack) fail('an undo puts back what was before', undo, `${JSON.stringify(own.before)} was before`);
}

/**
 * Returns whether each value is as a call left it, in the whole percent in which it was asked for, or as it was before, as after an undo that was
 * interrupted. Nobody can see that a lamp showed something else meanwhile.
 */
function isAsLeft(state: LampState, { before, left }: { readonly before: LampState; readonly left: readonly LampState[] }): boolean {
  return Object.keys(state).every((key) => state[key] === before[key] || left.some((own) => shownOf(state, key) === shownOf(own, key)));
}

/** A value as people read it. */
function shownOf(state: LampState, key: string): boolean | number | undefined {
  return key === 'LevelControl/CurrentLevel' ? percentOf(state) : state[key];
}

/** The changes of the lamp by the command of a call. */
function commandsOf({ lamp, percent, arrivedMs = Number.POSITIVE_INFINITY }: LampCall): readonly LampChange[] {
  return lamp.changes.filter(({ atMs, by, after }) => by !== 'hand' && atMs >= arrivedMs && percentOf(after) === percent);
}

/** What a lamp showed at some moment of a time. */
function statesBetween({ changes, state }: SimulatedLamp, fromMs: number, toMs: number): readonly LampState[] {
  const first = changes.find(({ atMs }) => atMs >= fromMs);
  return [first?.before ?? state, ...changes.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs).map(({ after }) => after)];
}

/** Brightness in percent, which a lamp has only while it is on. */
function percentOf(state: LampState): number {
  return percentOfLevel(state['LevelControl/CurrentLevel']);
}

function percentOfLevel(level: Json | undefined): number {
  return Math.round((Number(level) * 100) / 254);
}

function isSame(state: LampState, other: LampState): boolean {
  return Object.entries(state).every(([key, value]) => other[key] === value);
}

function fail(invariant: string, { trace, ...call }: LampCall | Undo, problem: string): never {
  const first = 'call' in call ? [call.call.trace] : [];
  throw new BrokenInvariant(invariant, `of the call with trace ${trace}, ${problem}`, [trace, ...first]);
}
