import { expect, test } from 'vitest';
import { ReportTimes } from '../../../src/matter/devices/device-reports.ts';
import type { NodeDevices } from '../../../src/matter/devices/node-devices.ts';
import type { AttributeShape } from '../../../src/matter/model/data-model.ts';
import { ManualClock } from '../../manual-clock.ts';

const nodeOf = (times: Pick<NodeDevices, 'joinedMs' | 'confirmedMs'>) => times as NodeDevices;
const attributeOf = (changesOmitted: boolean) => ({ facts: { changesOmitted } }) as AttributeShape;
const voltage = { endpoint: 0, cluster: 'PowerSource', attribute: 'BatVoltage' };

test('a value whose changes are not reported has the time at which a node that joined was read, then that of its own report', () => {
  const clock = new ManualClock();
  const times = new ReportTimes(clock);
  const joinedMs = clock.now();
  const node = nodeOf({ joinedMs, confirmedMs: joinedMs + 60_000 });
  expect(times.of(node, voltage, attributeOf(true))).toBe(joinedMs);
  expect(times.of(node, voltage, attributeOf(false))).toBe(joinedMs + 60_000);
  clock.advance(90_000);
  times.note(node, voltage);
  expect(times.of(node, voltage, attributeOf(true))).toBe(joinedMs + 90_000);
});

test('a value of a node that joined in an earlier process has no time before its report', () => {
  const node = nodeOf({ joinedMs: 0, confirmedMs: 5_000 });
  expect(new ReportTimes(new ManualClock()).of(node, voltage, attributeOf(true))).toBe(0);
});
