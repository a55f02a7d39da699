import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { thermalTool } from '../../../src/tools/builtin/board-tools.ts';
import type { ToolContext } from '../../../src/tools/definition/tool-definition.ts';

let base: string;
let root: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'thermal-'));
  root = join(base, 'sys');
  mkdirSync(join(root, 'class/thermal/thermal_zone0'), { recursive: true });
  writeFileSync(join(root, 'class/thermal/thermal_zone0/temp'), '48312\n');
});
afterEach(() => rmSync(base, { recursive: true }));

const read = (device: string, unit: string) =>
  thermalTool('board', { device: join(root, device) }, root).handler({ unit }, {} as ToolContext);

test('millidegrees of the kernel become the unit that was asked for', async () => {
  const file = 'class/thermal/thermal_zone0/temp';
  expect(await read(file, 'celsius')).toEqual({ value: 48.31, unit: 'celsius' });
  expect(await read(file, 'kelvin')).toEqual({ value: 321.46, unit: 'kelvin' });
  expect(await read(file, 'fahrenheit')).toEqual({ value: 118.96, unit: 'fahrenheit' });
});

test('the name that the catalogue has for a zone means its file', async () => {
  const tool = thermalTool('board', { device: '/dev/thermal0' }, root);
  expect(await tool.handler({ unit: 'celsius' }, {} as ToolContext)).toEqual({ value: 48.31, unit: 'celsius' });
  const gone = thermalTool('board', { device: '/dev/thermal7' }, root).handler({ unit: 'celsius' }, {} as ToolContext);
  await expect(gone).rejects.toMatchObject({ code: 'DEVICE_UNREACHABLE' });
  for (const device of ['/dev/thermal0/x', '/dev/thermal', '/x/dev/thermal0', '/dev/thermal0\n']) {
    expect(() => thermalTool('board', { device }, root)).toThrow(/needs config.device/);
  }
});

test('a file elsewhere is refused, also behind a link', async () => {
  expect(() => thermalTool('board', { device: '/etc/passwd' }, root)).toThrow(/needs config.device, a temperature file below/);
  expect(() => thermalTool('board', {}, root)).toThrow(/needs config.device/);
  writeFileSync(join(base, 'secret'), '1');
  symlinkSync(join(base, 'secret'), join(root, 'class/thermal/link'));
  await expect(read('class/thermal/link', 'celsius')).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
});

test('a sensor that is gone or tells something else is named', async () => {
  await expect(read('class/thermal/none', 'celsius')).rejects.toMatchObject({ code: 'DEVICE_UNREACHABLE' });
  writeFileSync(join(root, 'class/thermal/thermal_zone0/temp'), 'N/A');
  await expect(read('class/thermal/thermal_zone0/temp', 'celsius')).rejects.toMatchObject({ code: 'RESULT_INVALID' });
});
