import { describe, expect, test } from 'vitest';
import { SimulatedLamp } from '../devices/simulated-lamp.ts';
import { checkCommand, checkUndo, type LampCall, type Undo } from './lamp-invariants.ts';

const lamp = new SimulatedLamp('desk-lamp', () => 0);
const DIM = { device: lamp.device.id, name: 'LevelControl.MoveToLevelWithOnOff', fields: { level: 102 } };

const dimmed = (percent: number): LampCall => ({
  lamp,
  percent,
  trace: 'a',
  timeoutMs: 20_000,
  arrivedMs: 1_000,
  sent: new Set(),
});
const undone = (call: LampCall): Undo => ({ call, trace: 'b', timeoutMs: 20_000, arrivedMs: 5_000, sent: new Set() });

describe('the check of the commands to a lamp', () => {
  test('lets a hub send the command of a call until its deadline, once', () => {
    const asked = [dimmed(40)];
    checkCommand({ command: DIM, atMs: 21_000 }, asked);
    expect(() => checkCommand({ command: DIM, atMs: 21_000 }, asked)).toThrow(
      'is sent LevelControl.MoveToLevelWithOnOff {"level":102} again',
    );
  });

  test('finds a command that is sent after the deadline of its call', () => {
    expect(() => checkCommand({ command: DIM, atMs: 21_001 }, [dimmed(40)])).toThrow('nothing happens late');
  });

  test('finds a command that nobody has asked for', () => {
    expect(() => checkCommand({ command: DIM, atMs: 2_000 }, [dimmed(41)])).toThrow('a command has a call');
    expect(() => checkCommand({ command: DIM, atMs: 2_000 }, [{ ...dimmed(40), lamp: new SimulatedLamp('hall-lamp', () => 0) }])).toThrow(
      'a command has a call',
    );
  });

  test('lets an undo send the command of an earlier call again, once', () => {
    const [first, second] = [dimmed(40), dimmed(60)];
    checkCommand({ command: DIM, atMs: 2_000 }, [first, second]);
    const asked = [first, second, undone(second)];
    checkCommand({ command: DIM, atMs: 6_000 }, asked);
    expect(() => checkCommand({ command: DIM, atMs: 6_000 }, asked)).toThrow('a command is sent once');
  });
});

describe('the check of an undo', () => {
  const CHANGED_AT_MS = 3_000;

  /** A lamp that was dimmed, changed by something, and put back by an undo at 60 s. */
  function story(change: (lamp: SimulatedLamp) => void): Undo {
    const clock = { nowMs: 1_500 };
    const own = new SimulatedLamp('desk-lamp', () => clock.nowMs);
    const before = own.state;
    const call = { ...dimmed(40), lamp: own };
    own.obey('LevelControl', 'MoveToLevelWithOnOff', { level: 102, transitionTime: 0 });
    clock.nowMs = CHANGED_AT_MS;
    change(own);
    clock.nowMs = 60_100;
    own.obey('LevelControl', 'MoveToLevelWithOnOff', { level: before['LevelControl/CurrentLevel'] ?? 0, transitionTime: 0 });
    own.obey('OnOff', 'Off', {});
    const answer = { status: 'success', result: { counts: { settled: 1 } } };
    return { ...undone(call), arrivedMs: 60_000, answeredMs: 60_200, answer };
  }

  test('finds one that overwrites what a hand did', () => {
    expect(() => checkUndo(story((own) => own.turn({ 'LevelControl/CurrentLevel': 9 })))).toThrow('changed since');
  });

  test('lets one go on where an earlier one was interrupted', () => {
    checkUndo(story((own) => own.obey('LevelControl', 'MoveToLevelWithOnOff', { level: 127, transitionTime: 0 })));
  });

  test('lets one put back what shows again what the call left, in whole percent', () => {
    checkUndo(
      story((own) => {
        own.turn({ 'LevelControl/CurrentLevel': 9 });
        own.turn({ 'LevelControl/CurrentLevel': 101 });
      }),
    );
  });
});
