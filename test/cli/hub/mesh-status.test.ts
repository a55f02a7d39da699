import { describe, expect, test } from 'vitest';
import { hubIdOf, hubLabels, meshIfAllowed } from '../../../src/cli/hub/mesh-status.ts';
import { AtmoError, type ErrorCode } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { meshFinding } from '../../../src/doctor/mesh-finding.ts';
import { atmo } from '../cli-fixture.ts';

const ATTIC = { id: 'hub-a', name: 'attic', reachable: true };
const SHED = { id: 'hub-b', name: 'shed', reachable: false };
const TWIN = { id: 'hub-c', name: 'attic', reachable: true };

function meshOf(...peers: readonly JsonObject[]): JsonObject {
  return { mesh_id: 'mesh-1', state: 'member', peers: [...peers] };
}

function hubWith(mesh: JsonObject) {
  return { get: async () => mesh };
}

describe('the finding about the mesh', () => {
  test('is ok in no mesh and where all hubs are reachable', () => {
    expect(meshFinding({ state: 'none', peers: [] })).toEqual({ state: 'ok', found: 'none' });
    expect(meshFinding(meshOf(ATTIC))).toEqual({ state: 'ok', found: 'mesh-1 with 1 other hub' });
  });

  test('names the unreachable hubs; when no hub is reachable, this hub may be the cause', () => {
    const some = meshFinding(meshOf(ATTIC, SHED));
    expect(some).toMatchObject({ state: 'warning', found: 'mesh-1 with 2 other hubs (not reachable: shed)' });
    expect(some.advice).toContain('shed');
    expect(meshFinding(meshOf(SHED)).advice).toContain('sent away');
    expect(meshFinding({ ...meshOf(), members: 2 }).advice).toContain('sent away');
  });

  test('reports an ended membership and names that several hubs have', () => {
    expect(meshFinding({ mesh_id: 'mesh-1', state: 'revoked', peers: [] })).toMatchObject({
      state: 'warning',
      found: expect.stringContaining('revoked'),
    });
    expect(meshFinding(meshOf(ATTIC, TWIN)).advice).toContain('mesh.name');
    expect(meshFinding({ ...meshOf(ATTIC), hub_name: 'attic' }).advice).toContain('called attic');
  });
});

describe('a name of a hub', () => {
  test('is resolved to its id; a name of several hubs, or of none, is rejected', async () => {
    const hub = hubWith(meshOf(ATTIC, SHED));
    expect(await hubIdOf(hub, 'shed')).toBe('hub-b');
    expect(await hubIdOf(hub, 'hub-0123456789abcdef')).toBe('hub-0123456789abcdef');
    await expect(hubIdOf(hub, 'moon')).rejects.toThrow('"moon"');
    await expect(hubIdOf(hubWith(meshOf(ATTIC, TWIN)), 'attic')).rejects.toThrow('hub-a, hub-c');
  });

  test('is the label of a hub unless two hubs share it', () => {
    expect([...hubLabels(meshOf(ATTIC, SHED, TWIN))]).toEqual([
      ['hub-a', 'hub-a'],
      ['hub-b', 'shed'],
      ['hub-c', 'hub-c'],
    ]);
  });
});

test('a token without the permission gets no mesh; other errors are thrown', async () => {
  const refusing = (code: ErrorCode) => ({
    get: async () => {
      throw new AtmoError(code, 'no');
    },
  });
  expect(await meshIfAllowed(refusing('TOOL_NOT_FOUND'))).toBeUndefined();
  await expect(meshIfAllowed(refusing('INTERNAL_ERROR'))).rejects.toThrow('no');
});

describe('a sensor that this hub does not have', () => {
  /** A hub that knows of tools of another one for the device of the sensor, if `nodes` says so. */
  function hubKnowing(nodes: readonly string[]) {
    const missing = { code: 'SENSOR_NOT_FOUND', detail: 'There is no sensor shed/temperature', status: 404, retryable: false };
    const result = {
      sensor_id: 'shed/temperature',
      unit: '°C',
      age_seconds: 7,
      reachability: 'reachable',
      values: [{ timestamp: 't', value: 4 }],
    };
    return async (url: string | URL | Request) => {
      const { pathname } = new URL(String(url));
      if (pathname.endsWith('/readings')) return Response.json(missing, { status: 404 });
      if (pathname.endsWith('/invoke')) return Response.json({ status: 'success', result });
      if (nodes.length === 0) return Response.json({ code: 'DEVICE_NOT_FOUND', detail: 'There is no device' }, { status: 404 });
      return Response.json({ tools: [{ id: 'matter:shed_get_temperature@1.0.0', nodes }] });
    };
  }

  test('is read from the hub that has its device', async () => {
    const run = (nodes: readonly string[]) => atmo(['read', 'shed/temperature'], { fetch: hubKnowing(nodes) as typeof fetch });
    expect(await run(['hub-a'])).toMatchObject({ code: 0, out: '4 °C  (7 s old, device reachable)\n' });
    expect(await run([])).toMatchObject({ code: 2, err: expect.stringContaining('shed/temperature') });
  });
});

test('sensors of another hub are listed page by page, in the form of those of this one', async () => {
  const offsets: unknown[] = [];
  const fetch = async (_url: string, init: RequestInit) => {
    const { offset, ...wish } = JSON.parse(String(init.body));
    offsets.push([offset, wish.area]);
    const sensor = { sensor_id: `shed/${offset}`, value: 4, unit: '°C', age_seconds: 7, area: 'Shed', reachability: 'reachable' };
    return Response.json({ status: 'success', result: { sensors: [sensor], total: 2 } });
  };
  const { out } = await atmo(['sensors', '--hub', 'attic', '--area', 'shed'], { fetch });
  expect(out).toMatch(/shed\/0 +4 °C +7 s +Shed +reachable\nshed\/1 /);
  expect(offsets).toEqual([
    [0, 'shed'],
    [1, 'shed'],
  ]);
});

test('tools of other hubs are listed with the names that this hub knows, also over --hub', async () => {
  const asked: string[] = [];
  const fetch = async (url: string, init: RequestInit) => {
    const { pathname } = new URL(url);
    asked.push(`${pathname} ${new Headers(init.headers).get('x-hub')}`);
    return Response.json(pathname.endsWith('/mesh') ? meshOf(ATTIC) : { tools: [{ id: 'core:echo@1.0.0', nodes: ['hub-a'] }] });
  };
  const { out } = await atmo(['tools', '--hub', 'attic'], { fetch });
  expect(out).toMatch(/core:echo@1\.0\.0 .* attic\n/);
  expect(asked).toEqual(['/api/v1/tools attic', '/api/v1/mesh null']);
});
