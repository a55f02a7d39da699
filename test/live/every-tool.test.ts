import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeClassTools } from './every-tool/class-tools.ts';
import { describeEvents } from './every-tool/events.ts';
import { type OwnedDevice, OwnedHome } from './every-tool/owned-home.ts';
import { describeReadings } from './every-tool/readings.ts';
import { RowCaller } from './every-tool/row-caller.ts';
import { APPLIANCES } from './every-tool/rows/appliance-rows.ts';
import { CLIMATE } from './every-tool/rows/climate-rows.ts';
import { ENERGY } from './every-tool/rows/energy-rows.ts';
import { LIGHTS } from './every-tool/rows/light-rows.ts';
import { MEDIA } from './every-tool/rows/media-rows.ts';
import { MOVING } from './every-tool/rows/moving-rows.ts';
import { SENSORS } from './every-tool/rows/sensor-rows.ts';
import { describeStructure } from './every-tool/structure.ts';
import { describeTexts } from './every-tool/texts.ts';
import { describeValues } from './every-tool/values.ts';

const DEVICES = [...LIGHTS, ...ENERGY, ...CLIMATE, ...SENSORS, ...APPLIANCES, ...MOVING, ...MEDIA];

let owned: OwnedHome;
let devices: readonly OwnedDevice[];

beforeAll(async () => {
  owned = await OwnedHome.start();
  devices = await owned.settledDevices();
}, 600_000);

afterAll(() => owned?.[Symbol.asyncDispose]());

describe('every tool of every device', () => {
  test('has a row, and every row has a tool', () => {
    const existing = devices.flatMap(({ name, tools }) => tools.map((tool) => `${name}: ${tool}`));
    const covered = DEVICES.flatMap(({ device, rows }) => rows.map(({ tool }) => `${device}: ${tool}`));
    expect([...new Set(covered)].sort()).toEqual(existing.sort());
  });

  test.concurrent.for(DEVICES)('of $device does in the device what it says', async ({ home, rows }, { expect }) => {
    const caller = new RowCaller(owned.hub, owned.device(home), expect);
    const failures: string[] = [];
    for (const row of rows) {
      await caller.call(row).catch((error: unknown) => {
        failures.push(`${row.tool} ${JSON.stringify(row.params)}: ${error instanceof Error ? error.message : String(error)}`);
      });
    }
    expect(failures.join('\n\n')).toBe('');
  });
});

describeTexts(() => owned);
describeReadings(() => owned);
describeClassTools(() => owned);
describeEvents(() => owned);
describeStructure(() => owned);
// Last, since the hub does not run afterwards.
describeValues(() => owned);
