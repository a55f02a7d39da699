import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AttributePath } from '../../src/core/devices/device-model.ts';
import type { JsonSchema } from '../../src/core/json.ts';
import { standardHome } from '../home/home-spec.ts';
import { VirtualHome } from '../home/virtual-home.ts';
import { DeviceHub } from '../matter/device-hub.ts';

/** The whole home in one process: this test cuts no power and needs no links of their own. */
const devices = standardHome().devices.map(({ group: _, ...device }, index) => ({
  ...device,
  group: 'home',
  port: 5_600 + index,
  passcode: 30_000_001 + index,
  discriminator: 500 + index,
}));

let dir: string;
let home: VirtualHome;
let hub: DeviceHub;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'device-values-'));
  home = await VirtualHome.start({ spec: { devices }, dir: join(dir, 'home') });
  hub = new DeviceHub(dir);
  await hub.start();
  for (const { name } of devices) await hub.commission(home.device(name));
}, 180_000);
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await home[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

interface Described {
  readonly path: AttributePath;
  readonly schema: JsonSchema;
}

function everyAttribute(): readonly Described[] {
  return hub.devices.list().flatMap(({ id }) =>
    (hub.devices.describe(id)?.endpoints ?? []).flatMap(({ endpoint, clusters }) =>
      clusters.flatMap((cluster) =>
        cluster.attributes.map(({ name, schema }) => ({
          path: { device: id, endpoint, cluster: cluster.name, attribute: name },
          schema,
        })),
      ),
    ),
  );
}

describe('the whole virtual home', () => {
  test('every device has a unique id, a name and a leading device type', () => {
    const list = hub.devices.list();
    expect(list.filter(({ kind }) => kind === 'node').length).toBe(devices.length);
    expect(new Set(list.map(({ id }) => id)).size).toBe(list.length);
    for (const { id, name, deviceTypes } of list) expect([name.length > 0, deviceTypes.length > 0], id).toEqual([true, true]);
  });

  test('every value that a device told fits its own schema', () => {
    const ajv = new Ajv2020({ strict: false, allowUnionTypes: true, validateFormats: false });
    const wrong: string[] = [];
    let values = 0;
    for (const { path, schema } of everyAttribute()) {
      const reading = hub.devices.cached(path);
      if (reading === undefined) continue;
      values += 1;
      if (!ajv.validate(schema, reading.value))
        wrong.push(`${path.device} ${path.cluster}.${path.attribute} ${JSON.stringify(reading.value)} ${ajv.errorsText()}`);
    }
    expect(values).toBeGreaterThan(1_500);
    expect(wrong).toEqual([]);
  });

  test('every schema of a command, answer and event compiles', () => {
    const ajv = new Ajv2020({ strict: false, allowUnionTypes: true, validateFormats: false });
    const clusters = hub.devices
      .list()
      .flatMap(({ id }) => hub.devices.describe(id)?.endpoints.flatMap((endpoint) => endpoint.clusters) ?? []);
    for (const { commands, events } of clusters) {
      for (const { parameters, returns } of commands)
        for (const schema of [parameters, returns ?? {}]) expect(() => ajv.compile(schema)).not.toThrow();
      for (const { schema } of events) expect(() => ajv.compile(schema)).not.toThrow();
    }
  });
});
