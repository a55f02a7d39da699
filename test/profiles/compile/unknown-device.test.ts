import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ClusterDescription, DeviceDescription } from '../../../src/core/devices/device-model.ts';
import type { Json, JsonObject } from '../../../src/core/json.ts';
import { type ClusterShape, standardCluster, standardClusterNames, standardClusterShape } from '../../../src/matter/model/data-model.ts';
import { fromJson } from '../../../src/matter/model/value-json.ts';
import type { ValueShape } from '../../../src/matter/model/value-shape.ts';
import { compileDevice } from '../../../src/profiles/compile/compile-device.ts';
import type { DeviceStep, DeviceTool } from '../../../src/profiles/compile/compiled-device.ts';
import { isAdministrative } from '../../../src/profiles/files/administrative-clusters.ts';
import { ProfileSet } from '../../../src/profiles/files/profile-set.ts';
import { reasonableBounds } from '../../../src/profiles/values/human-schema.ts';
import { anyValueOf } from '../../matter/model/arbitrary-value.ts';
import { described, validator } from '../device-fixtures.ts';

const NO_PROFILES = ProfileSet.fromFiles({ capabilities: {}, devices: {} });
const ENDPOINT = 3;
const RUNS = { numRuns: 40, seed: 20_26 };

interface UnknownCluster {
  readonly shape: ClusterShape;
  readonly description: ClusterDescription;
}

/** A cluster of the model with some of its features. */
const unknownCluster: fc.Arbitrary<UnknownCluster> = fc
  .constantFrom(...standardClusterNames().filter((name) => !isAdministrative(name)))
  .chain((name) => fc.tuple(fc.constant(name), fc.subarray([...(standardCluster(name)?.features ?? [])])))
  .map(([name, features]) => {
    const shape = standardClusterShape(name, features);
    const description = standardCluster(name, features);
    return shape && description ? { shape, description } : expect.unreachable(`the model has no ${name}`);
  });

function toolsOf({ description }: UnknownCluster): readonly DeviceTool[] {
  const type = { id: 0xfff1_0001, name: 'DeviceType0xfff10001', revision: 1 };
  const device: DeviceDescription = {
    device: { ...described('OnOffLight').device, deviceTypes: [type.name] },
    endpoints: [{ endpoint: ENDPOINT, deviceTypes: [type], tags: [], clusters: [description] }],
  };
  return compileDevice(device, NO_PROFILES).tools;
}

function toolFor(tools: readonly DeviceTool[], element: string): DeviceTool {
  const fits = tools.filter((tool) => tool.kind === 'act' && tool.elements.includes(element));
  expect(fits.length, `tools for ${element}`).toBe(1);
  return fits[0] ?? expect.unreachable();
}

/** What reaches the wire when the tool is called with these parameters. */
function sent(tool: DeviceTool, params: JsonObject): DeviceStep {
  const { steps } = tool.plan(validator.parameters(tool.parameters, params));
  expect(steps).toHaveLength(1);
  return steps[0] ?? expect.unreachable();
}

const sample = (shape: ValueShape): Json => fc.sample(anyValueOf(reasonable(shape)), { numRuns: 1, seed: RUNS.seed })[0] ?? null;

/** The shape without powers, temperatures and times that no home has. */
function reasonable(shape: ValueShape): ValueShape {
  if (shape.kind === 'list') return { ...shape, entry: reasonable(shape.entry) };
  if (shape.kind === 'struct') return { ...shape, fields: shape.fields.map((field) => ({ ...field, shape: reasonable(field.shape) })) };
  const bounds = reasonableBounds(shape.unit ?? '');
  if (shape.kind !== 'integer' || !bounds) return shape;
  const [min, max] = [BigInt(Math.ceil(bounds.min / (shape.scale ?? 1))), BigInt(Math.floor(bounds.max / (shape.scale ?? 1)))];
  return { ...shape, min: min > shape.min ? min : shape.min, max: max < shape.max ? max : shape.max };
}

describe('a device type that no file names', () => {
  test('has a tool for every command; it takes all within reason that the wire takes and hands it on', () => {
    let commands = 0;
    fc.assert(
      fc.property(unknownCluster, (cluster) => {
        const tools = toolsOf(cluster);
        for (const [name, { request }] of cluster.shape.commands) {
          const params = sample(request) as JsonObject;
          const step = sent(toolFor(tools, name), params);
          expect(step).toEqual({ kind: 'invoke', endpoint: ENDPOINT, cluster: cluster.shape.name, command: name, fields: params });
          fromJson(request, params);
          commands += 1;
        }
      }),
      RUNS,
    );
    expect(commands).toBeGreaterThan(50);
  });

  test('has a tool for every attribute that can be written, and one that reads the others', () => {
    let attributes = 0;
    fc.assert(
      fc.property(unknownCluster, (cluster) => {
        const tools = toolsOf(cluster);
        const reading = tools.find((tool) => tool.kind === 'read');
        for (const [name, { shape, facts }] of cluster.shape.attributes) {
          if (facts.readPrivilege !== 'administer') expect(reading?.elements).toContain(name);
          if (!facts.writable) continue;
          const value = sample(shape);
          const step = sent(toolFor(tools, name), { value });
          expect(step).toEqual({ kind: 'write', endpoint: ENDPOINT, cluster: cluster.shape.name, attribute: name, value });
          attributes += 1;
        }
      }),
      RUNS,
    );
    expect(attributes).toBeGreaterThan(20);
  });

  test('refuses what the wire would not take: fields that are missing, unknown, or out of range', () => {
    let refused = 0;
    const refuses = (tool: DeviceTool, params: JsonObject): void => {
      expect(() => validator.parameters(tool.parameters, params), `${tool.action} ${JSON.stringify(params)}`).toThrow();
      refused += 1;
    };
    fc.assert(
      fc.property(unknownCluster, (cluster) => {
        const tools = toolsOf(cluster);
        for (const [name, { request }] of cluster.shape.commands) {
          const tool = toolFor(tools, name);
          const params = sample(request) as JsonObject;
          refuses(tool, { ...params, nonsense: 1 });
          for (const field of request.fields) {
            const { [field.name]: _, ...others } = params;
            if (field.isRequired) refuses(tool, others);
            if (field.shape.kind === 'integer') refuses(tool, { ...params, [field.name]: 2 ** 70 });
            if (field.shape.kind === 'enum') refuses(tool, { ...params, [field.name]: 'NoSuchName' });
          }
        }
      }),
      RUNS,
    );
    expect(refused).toBeGreaterThan(100);
  });
});
