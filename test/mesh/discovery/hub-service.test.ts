import { expect, test } from 'vitest';
import type { HubId } from '../../../src/core/ids.ts';
import { hubService, hubSighting } from '../../../src/mesh/discovery/hub-discovery.ts';

const id = 'hub-00112233aabbccdd' as HubId;
const announced = { ...hubService({ id, port: 8082, meshId: 'mesh-0011' }), addresses: ['10.0.0.1', 'fe80::1%eth0'] };

test('a hub tells the network its id, a tag of its mesh, and nothing else', () => {
  expect(announced).toMatchObject({
    name: id,
    type: '_atmosphere-edge._tcp',
    port: 8082,
    txt: { v: '1', id, mesh: expect.stringMatching(/^[0-9a-f]{8}$/) },
  });
  expect(Object.keys(announced.txt)).toEqual(['v', 'id', 'mesh']);
  expect(JSON.stringify(announced)).not.toContain('mesh-0011');
});

test('a hub of the same mesh is recognised, with whom to expect at its addresses', () => {
  expect(hubSighting(announced, { meshId: 'mesh-0011' })).toEqual({
    id,
    addresses: [
      { host: '10.0.0.1', port: 8082, expect: id },
      { host: 'fe80::1%eth0', port: 8082, expect: id },
    ],
  });
});

test('hubs of other meshes, of later versions and under false names are not', () => {
  expect(hubSighting(announced, { meshId: 'mesh-0022' })).toBeUndefined();
  expect(hubSighting({ ...announced, txt: { ...announced.txt, v: '2' } }, { meshId: 'mesh-0011' })).toBeUndefined();
  expect(hubSighting({ ...announced, name: 'hub-ffffffffffffffff' }, { meshId: 'mesh-0011' })).toBeUndefined();
  expect(hubSighting({ ...announced, name: 'printer' }, { meshId: 'mesh-0011' })).toBeUndefined();
  expect(hubSighting({ ...announced, txt: {} }, { meshId: 'mesh-0011' })).toBeUndefined();
});

test('a hub with a site recognises those of its site, and no name of a site is in the network', () => {
  const sited = hubService({ id, port: 8082, meshId: 'mesh-0011', site: 'garage' });
  const seen = { ...announced, txt: sited.txt };
  expect(JSON.stringify(sited)).not.toContain('garage');
  expect(hubSighting(seen, { meshId: 'mesh-0011', sites: { site: 'garage' } })).toBeDefined();
  expect(hubSighting(seen, { meshId: 'mesh-0011', sites: { site: 'attic' } })).toBeUndefined();
  expect(hubSighting(announced, { meshId: 'mesh-0011', sites: { site: 'garage' } })).toBeUndefined();
  // A guest that joins, and a hub without a site, see all.
  expect(hubSighting(seen, { meshId: 'mesh-0011' })).toBeDefined();
});
