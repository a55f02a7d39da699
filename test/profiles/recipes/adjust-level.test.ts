import { describe, expect, test } from 'vitest';
import type { Json } from '../../../src/core/json.ts';
import { described, homeWith, runTool, toolOf } from '../device-fixtures.ts';

const LIGHT = described('DimmableLight', { hasAllElements: true });
const SPEAKER = described('Speaker', { hasAllElements: true });

async function adjusted(told: Readonly<Record<string, Json>>, by: number) {
  const { home, compiled } = homeWith(LIGHT, { 'LevelControl.MinLevel': 1, 'LevelControl.MaxLevel': 254, ...told });
  const answer = await runTool(home, compiled, { action: 'adjust_brightness', params: { by } });
  return { sent: home.invoked.map(({ path, fields }) => ({ command: path.command, ...fields })), answer };
}

describe('brighter and darker', () => {
  test('a lamp that is off stays off when it is to be darker', async () => {
    const { sent, answer } = await adjusted({ 'OnOff.OnOff': false, 'LevelControl.CurrentLevel': 127 }, -20);
    expect(sent).toMatchObject([{ command: 'Step', stepMode: 'Down', optionsMask: { executeIfOff: true }, optionsOverride: {} }]);
    expect(answer).toMatchObject({ state: { is_on: false }, target: { is_on: false }, settled: true });
  });

  test('darker ends at the lowest brightness, still on, and the result shows it', async () => {
    const { sent, answer } = await adjusted({ 'OnOff.OnOff': true, 'LevelControl.CurrentLevel': 25 }, -20);
    expect(sent).toMatchObject([{ command: 'Step', stepMode: 'Down', stepSize: 51 }]);
    expect(answer).toMatchObject({ target: { brightness: 1 } });
  });

  test('brighter turns a lamp on, and the result shows the new brightness', async () => {
    const { sent, answer } = await adjusted({ 'OnOff.OnOff': false, 'LevelControl.CurrentLevel': 127 }, 20);
    expect(sent).toMatchObject([{ command: 'StepWithOnOff', stepMode: 'Up', stepSize: 51 }]);
    expect(answer).toMatchObject({ target: { is_on: true, brightness: 70 }, settled: false });
  });

  test('a difference of nothing is refused', async () => {
    await expect(adjusted({ 'OnOff.OnOff': true }, 0)).rejects.toThrow(/changes nothing/);
  });

  test('a lamp that is on is never at 0 percent', async () => {
    const { home, compiled } = homeWith(LIGHT, { 'OnOff.OnOff': true, 'LevelControl.CurrentLevel': 1 });
    const brightness = compiled.readings.find(({ path }) => path === 'brightness');
    expect([brightness?.toHuman(1), brightness?.toHuman(2), brightness?.toHuman(0)]).toEqual([1, 1, 0]);
    expect(await runTool(home, compiled, { action: 'turn_on' })).toMatchObject({ state: { is_on: true } });
  });
});

describe('louder and quieter', () => {
  test('a speaker is made quieter by a difference', async () => {
    const { home, compiled } = homeWith(SPEAKER, { 'LevelControl.CurrentLevel': 127 });
    expect(toolOf(compiled, 'adjust_volume').title).toMatch(/louder or quieter/);
    const answer = await runTool(home, compiled, { action: 'adjust_volume', params: { by: -10 } });
    expect(home.invoked).toMatchObject([{ path: { command: 'Step' }, fields: { stepMode: 'Down', stepSize: 25 } }]);
    expect(answer).toMatchObject({ target: { volume: 40 } });
  });

  test.each([
    [0, 0, 0],
    [1, 1, 1],
  ])('volume 0 is the quietest that a speaker with a lowest level of %d has', async (lowest, raw, shown) => {
    const { home, compiled } = homeWith(SPEAKER, { 'LevelControl.MinLevel': lowest, 'LevelControl.MaxLevel': 254 });
    const answer = await runTool(home, compiled, { action: 'set_volume', params: { volume: 0 } });
    expect(home.invoked[0]?.fields).toMatchObject({ level: raw });
    expect(answer).toMatchObject({ target: { volume: shown } });
  });
});
