import type { Json } from '../../src/core/json.ts';
import type { ApprovalView, DeviceView, EventView, ReadingView } from '../../src/web/api/hub-types.ts';

const AT = '2026-05-01T12:00:00.000Z';

/** A reading as the hub lists it. */
export function readingView(device: string, name: string, traits: Partial<ReadingView> & { readonly value: Json }): ReadingView {
  const id = `${device}/${name}`;
  return { id, device, name, title: name, kind: name, unit: '', area: null, at: AT, age_ms: 0, reachability: 'reachable', ...traits };
}

/** A device as the hub lists it. */
export function deviceView(id: string, traits: Partial<DeviceView> = {}): DeviceView {
  return {
    id,
    name: id.replaceAll('-', ' '),
    area: null,
    kind: 'node',
    matter_node_id: '1',
    vendor: { id: 1, name: 'Vendor' },
    product: { id: 1, name: 'Product' },
    device_types: ['OnOffLight'],
    reachability: 'reachable',
    last_seen: AT,
    age_ms: 0,
    is_sleepy: false,
    tools: [],
    readings: [],
    ...traits,
  };
}

/** Ids of a device's tools by their actions. */
export function toolIds(device: string, ...actions: readonly string[]): readonly string[] {
  return actions.map((action) => `matter:${device.replaceAll('-', '_')}_${action}@1.0.0`);
}

/** A request for approval as the hub lists it. */
export function approvalView(traits: Partial<ApprovalView> = {}): ApprovalView {
  return {
    approval_id: 'ab'.repeat(16),
    state: 'pending',
    agent_id: 'claude',
    title: 'Unlock',
    summary: '',
    tool: 'matter:front_door_unlock@1.0.0',
    params: {},
    effects: [],
    needed: 1,
    given: 0,
    approved_by: [],
    call_hash: 'cd'.repeat(32),
    hub: 'hub-0011223344556677',
    created_at: AT,
    expires_at: '2026-05-01T12:10:00.000Z',
    waits_for_s: 600,
    answers: ['approve', 'deny'],
    runs_when_approved: false,
    ...traits,
  };
}

/** An event as the hub tells it. */
export function eventView(type: string, subject: string, data: EventView['data'] = {}): EventView {
  return { id: `${type} ${subject}`, source: 'hub', type, subject, time: AT, data };
}
