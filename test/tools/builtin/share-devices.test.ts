import { expect, test } from 'vitest';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import type { DeviceId } from '../../../src/core/ids.ts';
import { fabricTools } from '../../../src/tools/builtin/fabric-tools.ts';
import type { AdminPorts } from '../../../src/tools/builtin/hub-tool.ts';
import { approvalsSaying } from '../../calls/approvals-fake.ts';
import { agent, makePipeline, owner } from '../../calls/pipeline-fixture.ts';
import { makeDevice } from '../../http/http-fixture.ts';
import { NO_NAMING } from './device-names-fixture.ts';

const HOME = [
  makeDevice('lamp', { area: 'Hall', nodeId: '1' }),
  makeDevice('plug', { area: 'Kitchen', nodeId: '2' }),
  makeDevice('bridge', { area: 'Kitchen', nodeId: '3' }),
  makeDevice('spot', { area: 'Kitchen', nodeId: '3', kind: 'bridged', parent: parseDeviceId('bridge') }),
  makeDevice('board-line', { area: 'Kitchen', nodeId: '', kind: 'board' }),
];

interface Setup {
  readonly isApproved?: boolean;
  readonly guarded?: readonly string[];
}

function hub({ isApproved = true, guarded = [] }: Setup = {}) {
  const asked: string[] = [];
  const approvals = approvalsSaying({ state: 'approved', approvalId: 'ap-1', by: ['ann'] });
  const made = makePipeline(isApproved ? { approvals } : {});
  const ports = {
    administration: {
      async share(id: DeviceId, seconds: number) {
        asked.push(`${id} ${seconds}`);
        if (id === 'plug') throw new AtmoError('DEVICE_UNREACHABLE', 'It does not answer');
        return { qrCode: `MT:${id}`, manualCode: '34970112332', expiresAt: '2026-01-01T00:15:00Z' };
      },
    },
    bounds: {
      nodeOf: (id: DeviceId) => HOME.filter(({ nodeId }) => nodeId === HOME.find((one) => one.id === id)?.nodeId).map((one) => one.id),
      wholeOf: (id: DeviceId) => id,
      isGuarded: (id: DeviceId) => guarded.includes(id),
    },
    naming: { ...NO_NAMING, directory: { get: () => undefined, list: () => HOME } },
  };
  for (const tool of fabricTools(ports as unknown as AdminPorts)) made.registry.register(tool);
  const call = (params: object, principal = owner) => made.pipeline.call({ principal, tool: 'hub:share_devices', params });
  const list = (params: object) => made.pipeline.call({ principal: owner, tool: 'hub:list_devices_to_share', params });
  return { ...made, asked, call, list };
}

test('all devices are opened one after another, and one that fails is listed without stopping the rest', async () => {
  const { call, asked } = hub();
  const bridge = { device_id: 'bridge', area: 'Kitchen', devices: 2, qr_code: 'MT:bridge', expires_at: '2026-01-01T00:15:00Z' };
  expect(await call({})).toMatchObject({
    result: {
      shared: [{ device_id: 'lamp', name: 'lamp', area: 'Hall', devices: 1, manual_code: '34970112332' }, bridge],
      failed: [{ device_id: 'plug', name: 'plug', code: 'DEVICE_UNREACHABLE', message: 'It does not answer' }],
    },
  });
  expect(asked).toEqual(['lamp 900', 'plug 900', 'bridge 900']);
});

test('of one room, only what is in it is opened', async () => {
  const { call, asked } = hub();
  expect(await call({ area: 'hall', seconds: 200 })).toMatchObject({ result: { shared: [{ device_id: 'lamp' }], failed: [] } });
  expect(asked).toEqual(['lamp 200']);
  expect(await call({ area: 'Attic' })).toMatchObject({ error: { code: 'NOT_FOUND' } });
});

test('a lock, and a bridge with a valve behind it, are opened only by who asks for what is dangerous', async () => {
  const { call, list, asked } = hub({ guarded: ['plug', 'spot'] });
  const leftOut = [
    { device_id: 'plug', name: 'plug', area: 'Kitchen', devices: 1 },
    { device_id: 'bridge', name: 'bridge', area: 'Kitchen', devices: 2 },
  ];
  const lamp = { device_id: 'lamp', name: 'lamp', area: 'Hall', devices: 1 };
  expect(await list({})).toMatchObject({ result: { devices: [lamp], left_out: leftOut } });
  expect(await call({})).toMatchObject({ result: { shared: [lamp], failed: [], left_out: leftOut } });
  expect(asked).toEqual(['lamp 900']);
  expect(await list({ dangerous: true })).toMatchObject({ result: { devices: [lamp, ...leftOut], left_out: [] } });
  expect(await call({ dangerous: true })).toMatchObject({ result: { shared: [lamp, leftOut[1]], left_out: [] } });
  expect(asked).toEqual(['lamp 900', 'lamp 900', 'plug 900', 'bridge 900']);
  const ofLamp = agent('admin:hub', 'admin:device:lamp');
  expect(await call({}, ofLamp)).toMatchObject({ status: 'success' });
  expect(await call({ dangerous: true }, ofLamp)).toMatchObject({ error: { code: 'PERMISSION_DENIED' } });
});

test('it waits for approval and needs the rights for every device, also for those behind a bridge', async () => {
  const without = hub({ isApproved: false });
  expect(await without.call({})).toMatchObject({ error: { code: 'PERMISSION_DENIED' } });
  const { call, asked } = hub();
  const most = agent('admin:hub', 'admin:device:lamp', 'admin:device:plug', 'admin:device:bridge');
  expect(await call({}, most)).toMatchObject({ error: { code: 'PERMISSION_DENIED' } });
  expect(await call({ area: 'Hall' }, most)).toMatchObject({ status: 'success' });
  expect([...without.asked, ...asked]).toEqual(['lamp 900']);
});

test('no code is kept in the audit log', async () => {
  const { call, audited } = hub();
  await call({ area: 'Hall' });
  expect(audited.length).toBeGreaterThan(0);
  expect(JSON.stringify(audited)).not.toMatch(/MT:lamp|34970112332/);
});
