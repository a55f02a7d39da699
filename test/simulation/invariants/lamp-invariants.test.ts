import { describe, expect, test } from 'vitest';
import { SimulatedLamp } from '../devices/simulated-lamp.ts';
import { checkCommand, type LampCall, type Undo } from './lamp-invariants.ts';

const lamp = new SimulatedLamp('desk-lamp', () => 0);
const DIM = { device: lamp.device.id, name: 'LevelControl.MoveToLevelWithOnOff', fields: { level: 102 } };

const dimmed = (percent: number): LampCall => ({ lamp, percent, trace: 'a', timeoutMs: 20_000, arrivedMs: 1_000, sent: new Set() });
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
