import { expect, test } from 'vitest';
import { ApprovalWaitSettings } from '../../../src/auth/approvals/approval-waits.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { approvalWaitTools } from '../../../src/tools/builtin/approval-wait-tools.ts';
import { makeApprovals, requestOf } from '../../auth/approvals/approval-fixture.ts';
import { agent, makePipeline } from '../../calls/pipeline-fixture.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';

const MINUTE_MS = 60_000;
const CONFIGURED = { devices: 120 * MINUTE_MS, programs: 30 * MINUTE_MS, administration: 60 * MINUTE_MS, other: 10 * MINUTE_MS };

async function makeTools(store = new MemoryKeyValueStore(new ManualClock())) {
  const waits = new ApprovalWaitSettings(store, CONFIGURED);
  const approvals = await makeApprovals();
  const { registry, pipeline } = makePipeline({ approvals: approvals.queue });
  for (const tool of approvalWaitTools(waits)) registry.register(tool);
  const call = async (tool: string, params: JsonObject = {}, principal = agent('admin:hub')) => {
    const answer = await pipeline.call({ principal, tool: `hub:${tool}`, params });
    return answer.status === 'success' ? answer.result : answer.error.code;
  };
  return { waits, store, call };
}

test('requests wait as the owner chose, also after a restart, and what was not chosen as the configuration says', async () => {
  const { store, call } = await makeTools();
  expect(await call('show_approval_waits')).toEqual({ devices: 120, programs: 30, administration: 60, other: 10 });
  expect(await call('set_approval_waits', { devices: 15 })).toEqual({ devices: 15, programs: 30, administration: 60, other: 10 });
  const restarted = await makeTools(store);
  expect(await restarted.call('show_approval_waits')).toMatchObject({ devices: 15 });
  expect(restarted.waits.current().devices).toBe(15 * MINUTE_MS);
});

test('a longer wait needs people, a shorter one does not', async () => {
  const { call } = await makeTools();
  expect(await call('set_approval_waits', { programs: 31 })).toBe('APPROVAL_REQUIRED');
  expect(await call('set_approval_waits', { programs: 5 })).toMatchObject({ programs: 5 });
  expect(await call('set_approval_waits', {})).toBe('APPROVAL_REQUIRED');
  expect(await call('set_approval_waits', { other: 1_441 })).toBe('VALIDATION_ERROR');
});

test('only administrators of the hub see and change it', async () => {
  const { call } = await makeTools();
  const adult = agent('*', 'admin:approvals');
  expect(await call('show_approval_waits', {}, adult)).toBe('PERMISSION_DENIED');
  expect(await call('set_approval_waits', { devices: 1 }, adult)).toBe('PERMISSION_DENIED');
});

test('a new request waits as was chosen last, and one that waits already keeps its time', async () => {
  const { waits } = await makeTools();
  const { file, viewOf } = await makeApprovals(undefined, undefined, undefined, {
    ...CONFIGURED,
    get devices() {
      return waits.current().devices;
    },
  });
  // Doors wait ten minutes at most, whatever the configuration says.
  const first = await file();
  waits.choose({ devices: 2 * MINUTE_MS });
  const second = await file(requestOf({ callHash: 'cd'.repeat(32) }));
  expect([viewOf(first.approval_id).waits_for_s, second.waits_for_s]).toEqual([600, 120]);
});
