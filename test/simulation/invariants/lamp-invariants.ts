import { BrokenInvariant } from '../broken-invariant.ts';
import type { LampChange, LampState, SimulatedLamp } from '../devices/simulated-lamp.ts';

/** A call that sets the brightness of a lamp. */
export interface LampCall {
  readonly lamp: SimulatedLamp;
  readonly percent: number;
  readonly trace: string;
  readonly timeoutMs: number;
  /** When the hub had the call, and when its answer was there. Milliseconds of the world. */
  arrivedMs?: number;
  answeredMs?: number;
  /** Body of the answer; undefined if none came. */
  answer?: ReturnType<typeof JSON.parse>;
  /** Whether an answer said that it was undone. */
  isUndone?: boolean;
}

/** A call that undoes another one. */
export interface Undo {
  readonly call: LampCall;
  readonly trace: string;
  readonly timeoutMs: number;
  arrivedMs?: number;
  answeredMs?: number;
  answer?: ReturnType<typeof JSON.parse>;
}

/** Longest time that a message takes to a lamp, in milliseconds. What was sent in time may arrive so much later. */
const TRAVEL_MS = 5_000;
/** A hub knows of a change at a lamp after so many milliseconds, while no message is lost. */
const REPORTED_MS = 10_000;

/** The answer to a call is what was at the lamp, its command came at most once, and not after its deadline. */
export function checkBrightness(call: LampCall): void {
  const { lamp, percent, arrivedMs, timeoutMs, answeredMs = 0 } = call;
  if (arrivedMs === undefined) return;
  const commands = commandsOf(call);
  if (commands.length > 1) fail('a command is sent once', call, `${lamp.device.id} got it ${commands.length} times`);
  const late = commands.find(({ atMs }) => atMs > arrivedMs + timeoutMs + TRAVEL_MS);
  if (late) fail('nothing happens late', call, `${lamp.device.id} got it at ${late.atMs} ms`);
  const result = call.answer?.result;
  if (call.answer?.status !== 'success') return;
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
  const since = changes.slice(index + 1).filter(({ atMs }) => atMs < arrivedMs - REPORTED_MS);
  const foreign = since.find(({ after }) => !isSame(after, own.after));
  if (foreign) fail('an undo changes nothing that was changed since', undo, `${foreign.by} had changed it at ${foreign.atMs} ms`);
  const before = changes[index - 1];
  // A hub may not know yet what a hand did just before the call.
  if (before && own.atMs - before.atMs < REPORTED_MS) return;
  const isBack = statesBetween(call.lamp, arrivedMs, answeredMs).some((state) => isSame(state, own.before));
  if (!isBack) fail('an undo puts back what was before', undo, `${JSON.stringify(own.before)} was before`);
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
  return Math.round((Number(state['LevelControl/CurrentLevel']) * 100) / 254);
}

function isSame(state: LampState, other: LampState): boolean {
  return Object.entries(state).every(([key, value]) => other[key] === value);
}

function fail(invariant: string, { trace, ...call }: LampCall | Undo, problem: string): never {
  const first = 'call' in call ? [call.call.trace] : [];
  throw new BrokenInvariant(invariant, `of the call with trace ${trace}, ${problem}`, [trace, ...first]);
}
