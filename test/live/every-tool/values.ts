import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AttributePath } from '../../../src/core/devices/device-model.ts';
import type { JsonSchema } from '../../../src/core/json.ts';
import { type DeviceHub, until } from '../../matter/device-hub.ts';
import type { OwnedHome } from './owned-home.ts';

interface Described {
  readonly path: AttributePath;
  readonly schema: JsonSchema;
}

/** What the devices say of themselves, seen in this process. The hub of the home does not run afterwards. */
export function describeValues(ownedHome: () => OwnedHome): void {
  describe('the whole virtual home', () => {
    let hub: DeviceHub;
    beforeAll(async () => {
      hub = await ownedHome().takeDevices();
      // Their values are what they told the hub before: it takes longer until each answers again.
      await until(() => hub.devices.list().filter(({ kind }) => kind === 'node').length === ownedHome().home.devices.length);
    });
    afterAll(() => hub?.[Symbol.asyncDispose]());

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

    test('every device has a unique id, a name and a leading device type', () => {
      const list = hub.devices.list();
      expect(list.filter(({ kind }) => kind === 'node').length).toBe(ownedHome().home.devices.length);
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
}
