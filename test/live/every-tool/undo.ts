import { describe, expect, test } from 'vitest';
import type { OwnedHome } from './owned-home.ts';
import type { ToolRow } from './tool-row.ts';
import { differencesOf, REHEARSALS, type Trial, UndoTrials } from './undo-trial.ts';

/** Milliseconds for all tools of a device, and for those that are undone after the hub was killed. */
const TRIALS_LIMIT = { timeout: 600_000 };
const KILL_LIMIT_MS = 300_000;

/** Bars that hold for all tools of the home together, not for some of them. */
export interface WholeBars {
  readonly rehearsals: number;
  readonly reversible: number;
  /** Share of the calls said to be undoable that change the device. An undo that does nothing would pass after the others. */
  readonly changing: number;
  /** Tools at which a hand can set a number between those before and after the call. */
  readonly hands: number;
  /** Devices that a call changes before the hub is killed. */
  readonly killed: number;
}

/** Tools of one process of the home. Those in `earlier` are only called, to bring its devices to where the others begin. */
export interface HomeTrials {
  readonly home: string;
  readonly earlier: readonly ToolRow[];
  readonly rows: readonly ToolRow[];
}

/** Rehearses each tool of the homes, calls it and undoes it, and compares with the device's own process. */
export function describeUndo(owned: () => OwnedHome, homes: readonly HomeTrials[], bars: WholeBars): void {
  describe('every acting tool', () => {
    const trials: Trial[] = [];
    /** The rows whose calls change the device and are said to be undoable, by home. */
    const reversible = new Map<string, ToolRow[]>();
    test.concurrent.for(homes)('of $home is rehearsed, called and undone', TRIALS_LIMIT, async ({ home, earlier, rows }) => {
      const device = new UndoTrials(owned().hub, owned().device(home));
      for (const row of earlier) await device.call(row);
      // The devices of one process have one log of commands, so they take their turns.
      for (const row of rows) {
        const trial = await device.run(row);
        trials.push(trial);
        if (trial.isCalledReversible && trial.isChanging) reversible.set(home, [...(reversible.get(home) ?? []), row]);
      }
    });

    test('changes nothing when it is rehearsed, does what was foretold, and is undone where that was said', async ({ onTestFailed }) => {
      const said = trials.filter(({ isCalledReversible }) => isCalledReversible);
      const failed = said.filter(({ undo, differences }) => undo !== 'success' || Object.keys(differences).length > 0);
      const sum = (of: (trial: Trial) => number) => trials.reduce((total, trial) => total + of(trial), 0);
      const hands = said.flatMap(({ tool, afterHand }) => (afterHand ? [{ tool, ...afterHand }] : []));
      const figures = {
        trials: trials.length,
        reversible: said.length / trials.length,
        asBefore: 1 - failed.length / said.length,
        foretold: 1 - sum(({ wrong }) => wrong.length) / sum(({ foretold }) => foretold),
        rehearsals: trials.length * REHEARSALS,
        commandsOfRehearsals: sum(({ commandsOfRehearsals }) => commandsOfRehearsals),
        commandsOfCalls: sum(({ commandsOfCall }) => commandsOfCall),
        changing: said.filter(({ isChanging }) => isChanging).length / said.length,
        hands: hands.length,
      };
      const lasting = trials.filter(({ isCalledReversible }) => !isCalledReversible);
      const wrong = trials.filter((trial) => trial.wrong.length > 0).map((trial) => [trial.tool, ...trial.wrong]);
      const rehearsed = trials.filter(({ rehearsedDifferences }) => Object.keys(rehearsedDifferences).length > 0);
      const idle = said.filter(({ isChanging }) => !isChanging).map(({ tool }) => tool);
      const overwritten = hands.filter(({ undo, isUntouched }) => !isUntouched || !undo.startsWith('CONFLICT '));
      process.stdout.write(`${JSON.stringify(figures)}\n`);
      onTestFailed(() => {
        const misses = { failed, wrong, overwritten, rehearsed, idle, lasting: lasting.map(({ tool, reason }) => `${tool}: ${reason}`) };
        process.stdout.write(`${JSON.stringify(misses, null, 1)}\n`);
      });
      expect(figures.rehearsals).toBeGreaterThanOrEqual(bars.rehearsals);
      expect(figures.commandsOfRehearsals).toBe(0);
      expect(figures.commandsOfCalls).toBeGreaterThan(0);
      expect(rehearsed).toEqual([]);
      expect(figures.changing).toBeGreaterThanOrEqual(bars.changing);
      expect(figures.foretold).toBeGreaterThanOrEqual(0.95);
      expect(figures.asBefore).toBeGreaterThanOrEqual(0.98);
      expect(figures.reversible).toBeGreaterThanOrEqual(bars.reversible);
      expect(lasting.filter(({ reason }) => reason === '')).toEqual([]);
      expect(await withoutWarning(owned(), lasting)).toEqual([]);
      expect(overwritten).toEqual([]);
      expect(hands.length).toBeGreaterThanOrEqual(bars.hands);
    });

    test(
      'is undone by a hub that was killed after it',
      async () => {
        const changing = [...reversible].map(async ([home, rows], index) => {
          const device = new UndoTrials(owned().hub, owned().device(home));
          const change = await firstChange(device, turned(rows, index));
          return change ? [{ home, ...change }] : [];
        });
        const changes = (await Promise.all(changing)).flat();
        process.stdout.write(`${JSON.stringify({ killed: changes.length })}\n`);
        expect(changes.length).toBeGreaterThanOrEqual(bars.killed);
        await owned().killHub();
        const undone = changes.map(async ({ home, tool, before, traceId }) => {
          const device = new UndoTrials(owned().hub, owned().device(home));
          await expect.poll(() => device.undo(traceId), { timeout: 60_000, interval: 500 }).toBe('success');
          return [tool, differencesOf(before, await device.stillState())];
        });
        expect((await Promise.all(undone)).filter(([, differences = {}]) => Object.keys(differences).length > 0)).toEqual([]);
      },
      KILL_LIMIT_MS,
    );
  });
}

/** Begins with another one for each index, so that each device has a different kind of tool. */
function turned(rows: readonly ToolRow[], index: number): readonly ToolRow[] {
  const start = index % rows.length;
  return [...rows.slice(start), ...rows.slice(0, start)];
}

/** Makes the first of the calls that changes the device as it is now. Rows build on each other, so some are refused or find nothing to do. */
async function firstChange(device: UndoTrials, rows: readonly ToolRow[]) {
  for (const row of rows) {
    const change = await device.change(row);
    if (change) return change;
  }
  return undefined;
}

/** The tools whose description does not say that their calls cannot, or cannot always, be undone. */
async function withoutWarning({ hub }: OwnedHome, lasting: readonly Trial[]): Promise<readonly string[]> {
  const texts = lasting.map(async ({ tool }) => ({
    tool,
    text: JSON.stringify(await hub.get(`/api/v1/tools/${encodeURIComponent(tool)}`)),
  }));
  return (await Promise.all(texts)).filter(({ text }) => !/Cannot (?:always )?be undone\./.test(text)).map(({ tool }) => tool);
}
