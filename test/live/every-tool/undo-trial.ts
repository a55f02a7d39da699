import { setTimeout } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import { type Json, type JsonObject, objectOf } from '../../../src/core/json.ts';
import type { VirtualDevice } from '../../home/virtual-device.ts';
import type { RunningHub } from '../running-hub.ts';
import type { ToolRow } from './tool-row.ts';

/** Milliseconds between two looks at a device that has to stand still, and the most looks. A blind of the home moves for some seconds. */
const LOOK_MS = 300;
const MOST_LOOKS = 40;
/** Rehearsals of each tool; with all tools of the home, these are more than 10,000. */
export const REHEARSALS = 50;
const AT_ONCE = 10;

/** The coordinates that count in each colour mode of the device: hue and saturation, x and y, temperature. */
const COORDINATES = [['currentHue', 'currentSaturation'], ['currentX', 'currentY'], ['colorTemperatureMireds']];
const ALL_COORDINATES = [...COORDINATES.flat(), 'enhancedCurrentHue'];
/** What a device notes beside its state: which scene it is in, what is left of a change, how often it moved, and positions in another unit. */
const NOTES = [
  'numberOfActuationsLift',
  'numberOfActuationsTilt',
  'currentPositionLiftPercentage',
  'currentPositionTiltPercentage',
  'fabricSceneInfo',
  'lastConfiguredBy',
  'globalSceneControl',
  'offWaitTime',
  'remainingTime',
];
/** Time that is left, which runs on. */
const TIME_LEFT = ['onTime', 'remainingDuration'];

/** In the path of an attribute that the device computes from its settings, so that no hand sets it alone. */
const COMPUTED = '/effective';

/** The state of a device in its own process, without what counts for nobody. */
type OwnState = Readonly<Record<string, Json>>;

/** What a tool was called before, and what became of it. */
export interface Trial {
  readonly tool: string;
  readonly isCalledReversible: boolean;
  readonly reason: string;
  readonly commandsOfRehearsals: number;
  readonly commandsOfCall: number;
  /** Attributes that differ after the rehearsals, each with both values. */
  readonly rehearsedDifferences: JsonObject;
  /** Whether the call changed an attribute of the device. Without that, an undo that does nothing would pass. */
  readonly isChanging: boolean;
  /** Values whose new content was foretold, and those of them that came otherwise. */
  readonly foretold: number;
  readonly wrong: readonly (readonly Json[])[];
  /** `success`, or the error of the undo. */
  readonly undo: string;
  /** Attributes that differ from before the call after its undo, each with both values. */
  readonly differences: JsonObject;
  /** What the undo answered after somebody had changed the device since, and whether it left that alone; absent if nothing fits between. */
  readonly afterHand?: { readonly undo: string; readonly isUntouched: boolean };
}

/** A call that changed the device, and its state before. */
interface Change {
  readonly tool: string;
  readonly before: OwnState;
  readonly traceId: string;
}

/** Rehearses, calls and undoes tools of one device, and looks at the device's own process. */
export class UndoTrials {
  readonly #hub: RunningHub;
  readonly #device: VirtualDevice;

  constructor(hub: RunningHub, device: VirtualDevice) {
    this.#hub = hub;
    this.#device = device;
  }

  async run(row: ToolRow): Promise<Trial> {
    const before = await this.#given(row);
    const commands = await this.#commandCount();
    const rehearsal = await this.#rehearsed(row);
    const rehearsed = { commands: (await this.#commandCount()) - commands, state: await this.state() };
    const traceId = await this.#called(row);
    const commandsOfCall = (await this.#commandCount()) - commands - rehearsed.commands;
    const answered = nowOf(await this.#rehearse(row));
    const still = await this.#still(row);
    const left = await this.state();
    const undo = await this.undo(traceId);
    await this.#still(row);
    const isCalledReversible = (rehearsal.undo as JsonObject).possible === true;
    const differences = differencesOf(before, await this.state());
    // The rows of a device build on each other, so what was undone is done again.
    const again = undo === 'success' ? await this.#called(row) : undefined;
    const hand = isCalledReversible && again !== undefined ? await this.#byHand(row, { before, left, traceId: again }) : undefined;
    return {
      tool: `matter:${row.tool}`,
      isCalledReversible,
      reason: String((rehearsal.undo as JsonObject).reason ?? ''),
      commandsOfRehearsals: rehearsed.commands,
      commandsOfCall,
      rehearsedDifferences: differencesOf(before, rehearsed.state),
      isChanging: Object.keys(differencesOf(before, left)).length > 0,
      ...foretellings(rehearsal, answered, still),
      undo,
      differences,
      ...(hand && { afterHand: hand }),
    };
  }

  /** Calls a tool, which has to succeed. */
  async call(row: ToolRow): Promise<void> {
    await this.#given(row);
    await this.#called(row);
    await this.#still(row);
  }

  /**
   * Calls a tool, if its rehearsal says that the call can be undone as the device is now. Returns undefined if not, if the device refused it, or if
   * nothing changed, as at a device that is on already.
   */
  async change(row: ToolRow): Promise<Change | undefined> {
    const before = await this.#given(row);
    if (((await this.#rehearse(row)).undo as JsonObject).possible !== true) return undefined;
    const { status, trace_id: traceId } = await this.#hub.call(`matter:${row.tool}`, row.params);
    await this.#still(row);
    const isChanged = Object.keys(differencesOf(before, await this.state())).length > 0;
    return status === 'success' && isChanged ? { tool: row.tool, before, traceId } : undefined;
  }

  async undo(traceId: string): Promise<string> {
    const answer = await this.#hub.call('hub:undo', { trace_id: traceId });
    return answer.status === 'success' ? 'success' : `${answer.error.code} ${answer.error.message}`;
  }

  async state(): Promise<OwnState> {
    const all = await this.#device.state();
    return Object.fromEntries(Object.entries(all).filter(([path]) => counts(path, all)));
  }

  /** The state, once two looks at it agree. */
  async stillState(): Promise<OwnState> {
    for (let look = 0, before: OwnState = {}; ; look++) {
      await setTimeout(LOOK_MS);
      const state = await this.state();
      const isSteady = Object.keys(differencesOf(before, state)).every(isTimeLeft);
      if ((isSteady && !isMoving(state)) || look === MOST_LOOKS) return state;
      before = state;
    }
  }

  async #given(row: ToolRow): Promise<OwnState> {
    for (const [endpoint, cluster, attribute, raw] of row.given) await this.#device.set(endpoint, cluster, attribute, raw);
    await this.#still(row);
    return this.state();
  }

  /** Calls a tool, which has to succeed, and returns the trace. */
  async #called({ tool, params }: ToolRow): Promise<string> {
    const answer = await this.#hub.call(`matter:${tool}`, params);
    expect(answer, tool).toMatchObject({ status: 'success' });
    return answer.trace_id;
  }

  async #commandCount(): Promise<number> {
    return (await this.#device.commands()).length;
  }

  /** Rehearses a tool many times, each of which has to tell that the call would run, and returns one rehearsal. */
  async #rehearsed(row: ToolRow): Promise<JsonObject> {
    const rehearsals: JsonObject[] = [];
    while (rehearsals.length < REHEARSALS) {
      rehearsals.push(...(await Promise.all(Array.from({ length: AT_ONCE }, () => this.#rehearse(row)))));
    }
    const outcomes = [...new Set(rehearsals.map(({ outcome }) => outcome))];
    expect([['would_run'], ['needs_approval']], row.tool).toContainEqual(outcomes);
    return rehearsals[0] ?? {};
  }

  /** Sets one changed number to one between, as a hand at the device would, and tries to undo. */
  async #byHand(
    row: ToolRow,
    { before, left, traceId }: { before: OwnState; left: OwnState; traceId: string },
  ): Promise<Trial['afterHand']> {
    await this.#still(row);
    const between = Object.entries(left).flatMap(([path, now]) => {
      const [was, middle] = [before[path], Math.round((Number(now) + Number(before[path])) / 2)];
      return typeof now === 'number' && typeof was === 'number' && middle !== now && middle !== was ? [{ path, middle }] : [];
    });
    const [first] = between.filter(({ path }) => !isTimeLeft(path) && !path.includes(COMPUTED));
    const [part = '', cluster = '', name = ''] = first?.path.split('/') ?? [];
    if (!first || !(await this.#isSet([part, cluster, name, first.middle]))) return undefined;
    await this.#still(row);
    const changed = await this.state();
    const undo = await this.undo(traceId);
    await this.#still(row);
    const isUntouched = Object.keys(differencesOf(changed, await this.state())).length === 0;
    await this.#device.set(part, cluster, name, left[first.path]);
    return { undo, isUntouched };
  }

  /** Whether the device takes the value: a number may have no meaning, as that of an enum. */
  async #isSet(path: readonly [string, string, string, number]): Promise<boolean> {
    return this.#device.set(...path).then(
      () => true,
      () => false,
    );
  }

  /** The values that the hub knows, once the device stands still and two looks at them agree. */
  async #still(row: ToolRow): Promise<JsonObject> {
    await this.stillState();
    for (let look = 0, before: JsonObject = {}; ; look++) {
      await setTimeout(LOOK_MS);
      const values = nowOf(await this.#rehearse(row));
      if (isDeepStrictEqual(values, before) || look === MOST_LOOKS) return values;
      before = values;
    }
  }

  async #rehearse({ tool, params }: ToolRow): Promise<JsonObject> {
    const response = await this.#hub.request(`/api/v1/tools/${encodeURIComponent(`matter:${tool}`)}/invoke?rehearse=true`, {
      method: 'POST',
      body: JSON.stringify(params),
      headers: { 'content-type': 'application/json' },
    });
    return (await response.json()) as JsonObject;
  }
}

/** The attributes that differ, each with both values. */
export function differencesOf(before: OwnState, after: OwnState): JsonObject {
  const paths = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const differing = paths.filter((path) => !isSame(path, before[path], after[path]));
  return Object.fromEntries(differing.map((path) => [path, [before[path] ?? null, after[path] ?? null]]));
}

function isSame(path: string, before: Json | undefined, after: Json | undefined): boolean {
  if (isTimeLeft(path) && typeof before === 'number' && typeof after === 'number' && before > 0) return after > 0 && after <= before;
  return isDeepStrictEqual(before, after);
}

/** Whether a blind says that it moves. */
function isMoving(state: OwnState): boolean {
  return Object.entries(state).some(
    ([path, status]) => path.endsWith('/windowCovering/operationalStatus') && objectOf(status).global !== 0,
  );
}

function isTimeLeft(path: string): boolean {
  return TIME_LEFT.some((name) => path.endsWith(`/${name}`));
}

/** Whether an attribute is state of the device: coordinates of a colour that mean nothing in its mode are not. */
function counts(path: string, all: OwnState): boolean {
  const [part, cluster, name = ''] = path.split('/');
  if (NOTES.includes(name)) return false;
  if (cluster !== 'colorControl' || !ALL_COORDINATES.includes(name)) return true;
  return COORDINATES[Number(all[`${part}/colorControl/colorMode`])]?.includes(name) ?? false;
}

/** What was foretold counts as right if the device shows it when it answers, as a timer does, or when it stands still, as a blind does. */
function foretellings(rehearsal: JsonObject, answered: JsonObject, still: JsonObject): Pick<Trial, 'foretold' | 'wrong'> {
  const told = changesOf(rehearsal).filter(({ name, expected }) => expected !== undefined && Object.hasOwn(still, String(name)));
  const wrong = told.flatMap(({ name = '', expected = null }) => {
    const shown = [answered, still].map((values) => values[String(name)] ?? null);
    return shown.some((now) => isForetold(String(name), now, expected)) ? [] : [[name, expected, ...shown]];
  });
  return { foretold: told.length, wrong };
}

function isForetold(name: string, now: Json, expected: Json): boolean {
  if (name === 'seconds_left' && typeof now === 'number' && typeof expected === 'number') return now <= expected;
  return isDeepStrictEqual(now, expected);
}

function nowOf(rehearsal: JsonObject): JsonObject {
  return Object.fromEntries(changesOf(rehearsal).map(({ name, now = null }) => [String(name), now]));
}

function changesOf({ changes }: JsonObject): readonly JsonObject[] {
  return changes as unknown as readonly JsonObject[];
}
