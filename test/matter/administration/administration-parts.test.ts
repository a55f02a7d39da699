import { ManualPairingCodeCodec, QrPairingCodeCodec } from '@matter/main/types';
import { NodeJsCrypto } from '@matter/nodejs';
import { describe, expect, test } from 'vitest';
import type { Device } from '../../../src/core/devices/device-model.ts';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import { addBinding, readBindings, removeBinding } from '../../../src/matter/administration/bindings.ts';
import { DeviceSharing, readFabrics, removeForeignFabric } from '../../../src/matter/administration/fabrics.ts';
import { joinGroup, leaveGroup } from '../../../src/matter/administration/groups.ts';
import { groupEntry, operateEntry, withEntry, withoutEntry, writeAccessList } from '../../../src/matter/administration/node-clusters.ts';
import { ManualClock } from '../../manual-clock.ts';
import { FakeNode } from './fake-node.ts';

const ADMIN = { privilege: 'Administer', authMode: 'Case', subjects: ['112233'], targets: null };
const device = { id: parseDeviceId('lamp'), vendor: { id: 0xfff1, name: 'v' }, product: { id: 0x8000, name: 'p' } } as Device;

describe('sharing', () => {
  test('the returned code fits the opened window', async () => {
    const node = new FakeNode();
    const asked: Record<string, unknown>[] = [];
    node.commands.set('0/AdministratorCommissioning/OpenCommissioningWindow', (fields) => {
      asked.push(fields);
      return null;
    });
    const share = await new DeviceSharing(new NodeJsCrypto(), new ManualClock(0)).open(node.clusters, device, 300);
    const [qr] = QrPairingCodeCodec.decode(share.qrCode);
    const manual = ManualPairingCodeCodec.decode(share.manualCode);
    expect(asked[0]).toMatchObject({ commissioningTimeout: 300, discriminator: qr?.discriminator });
    expect(Buffer.from(String(asked[0]?.pakePasscodeVerifier), 'base64')).toHaveLength(97);
    expect(manual.passcode).toBe(qr?.passcode);
    expect(share.expiresAt).toBe('1970-01-01T00:05:00.000Z');
    expect(node.log).toEqual([
      'invoke 0/AdministratorCommissioning/RevokeCommissioning',
      'invoke 0/AdministratorCommissioning/OpenCommissioningWindow',
    ]);
  });

  test('a window outside 3 to 15 minutes is refused before a request to the device', async () => {
    const node = new FakeNode();
    const sharing = new DeviceSharing(new NodeJsCrypto(), new ManualClock());
    await expect(sharing.open(node.clusters, device, 60)).rejects.toThrow(/180 to 900 seconds, not 60/);
    expect(node.log).toEqual([]);
  });

  test('closing succeeds when no window is open, and fails for any other refusal', async () => {
    const node = new FakeNode();
    const sharing = new DeviceSharing(new NodeJsCrypto(), new ManualClock());
    const refuse = (clusterStatus: number) => () => {
      throw new AtmoError('CLUSTER_STATUS', 'no', { clusterStatus });
    };
    node.commands.set('0/AdministratorCommissioning/RevokeCommissioning', refuse(4));
    await sharing.close(node.clusters);
    node.commands.set('0/AdministratorCommissioning/RevokeCommissioning', refuse(3));
    await expect(sharing.close(node.clusters)).rejects.toThrow('no');
  });
});

describe('fabrics', () => {
  const withTwo = () => {
    const node = new FakeNode();
    node.attributes.set('0/OperationalCredentials/CurrentFabricIndex', 1);
    node.attributes.set('0/OperationalCredentials/Fabrics', [
      { fabricIndex: 1, label: 'us', vendorId: 0xfff1, fabricId: '1' },
      { fabricIndex: 2, label: 'them', vendorId: 4939, fabricId: '9' },
    ]);
    return node;
  };

  test('our own fabric is marked', async () => {
    expect((await readFabrics(withTwo().clusters)).map((fabric) => [fabric.label, fabric.isOurs])).toEqual([
      ['us', true],
      ['them', false],
    ]);
  });

  test('our own and an absent fabric are not removed; a refusal of the device is an error', async () => {
    const node = withTwo();
    await expect(removeForeignFabric(node.clusters, 1)).rejects.toThrow(/own; remove the device instead/);
    await expect(removeForeignFabric(node.clusters, 7)).rejects.toThrow(/no fabric 7; it has 1, 2/);
    expect(node.log).toEqual([]);
    node.commands.set('0/OperationalCredentials/RemoveFabric', () => ({ statusCode: 'InvalidFabricIndex' }));
    await expect(removeForeignFabric(node.clusters, 2)).rejects.toThrow(/InvalidFabricIndex/);
  });
});

describe('access control', () => {
  test('a list that locks this hub out is refused', async () => {
    const node = new FakeNode();
    await expect(writeAccessList(node.clusters, [operateEntry('5', { endpoint: 1 })], '112233')).rejects.toThrow(/let this hub/);
    await expect(writeAccessList(node.clusters, [{ ...ADMIN, subjects: ['5'] }], '112233')).rejects.toThrow(/let this hub/);
    expect(node.log).toEqual([]);
    await writeAccessList(node.clusters, [ADMIN, operateEntry('5', { endpoint: 1 })], '112233');
    expect(node.attributes.get('0/AccessControl/Acl')).toHaveLength(2);
  });

  test('an entry is added once, in any order of its subjects', () => {
    const two = { ...groupEntry(1), subjects: ['1', '2'] };
    expect(withEntry([two], { ...two, subjects: ['2', '1'] })).toHaveLength(1);
    expect(withoutEntry([ADMIN, two], { ...two, subjects: ['2', '1'] })).toEqual([ADMIN]);
  });
});

test('a binding of one cluster grants that cluster alone', () => {
  expect(operateEntry('5', { endpoint: 1, clusterId: 6 }).targets).toEqual([{ cluster: 6, endpoint: 1, deviceType: null }]);
  expect(operateEntry('5', { endpoint: 1 }).targets).toEqual([{ cluster: null, endpoint: 1, deviceType: null }]);
});

test('a binding is added once and removed, and other bindings stay', async () => {
  const node = new FakeNode();
  node.attributes.set('1/Binding/Binding', [{ node: '9', endpoint: 1 }]);
  const target = { nodeId: '5', endpoint: 2, clusterId: 6 };
  expect(await addBinding(node.clusters, 1, target)).toBe(true);
  expect(await addBinding(node.clusters, 1, target)).toBe(false);
  expect(await readBindings(node.clusters, 1)).toHaveLength(2);
  expect(await removeBinding(node.clusters, 1, target)).toBe(true);
  expect(await readBindings(node.clusters, 1)).toEqual([{ node: '9', endpoint: 1 }]);
});

test('joining a group sets key, map, table and access; leaving removes those of this group', async () => {
  const node = new FakeNode();
  node.attributes.set('0/AccessControl/Acl', [ADMIN]);
  node.attributes.set('0/GroupKeyManagement/GroupKeyMap', [{ groupId: 9, groupKeySetId: 3 }]);
  const group = { groupId: 4, groupName: 'hall', epochKey: Buffer.alloc(16, 7) };
  await joinGroup(node.clusters, 1, group);
  await joinGroup(node.clusters, 1, group);
  expect(node.attributes.get('0/GroupKeyManagement/GroupKeyMap')).toEqual([
    { groupId: 9, groupKeySetId: 3 },
    { groupId: 4, groupKeySetId: 1 },
  ]);
  expect(node.attributes.get('0/AccessControl/Acl')).toEqual([ADMIN, groupEntry(4)]);
  await leaveGroup(node.clusters, 1, { groupId: 4, isLastOfNode: true });
  expect(node.attributes.get('0/GroupKeyManagement/GroupKeyMap')).toEqual([{ groupId: 9, groupKeySetId: 3 }]);
  expect(node.attributes.get('0/AccessControl/Acl')).toEqual([ADMIN]);
});

test('a full group table of a device is an error', async () => {
  const node = new FakeNode();
  node.commands.set('1/Groups/AddGroup', () => ({ status: 0x89 }));
  await expect(joinGroup(node.clusters, 1, { groupId: 4, groupName: 'x', epochKey: Buffer.alloc(16) })).rejects.toThrow(
    /refused to join group 4: status 137/,
  );
});
