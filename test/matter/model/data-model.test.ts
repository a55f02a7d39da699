import { TlvOfModel, type TlvSchema } from '@matter/main/types';
import { type ClusterModel, Matter, type ValueModel } from '@matter/model';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { standardCluster, standardClusterNames, standardClusterShape, standardDeviceTypes } from '../../../src/matter/model/data-model.ts';
import { fromJson, schemaOf, toJson } from '../../../src/matter/model/value-json.ts';
import type { ValueShape } from '../../../src/matter/model/value-shape.ts';
import { anyValueOf } from './arbitrary-value.ts';

// matter.js resolves the bitmap of an inherited command in the base cluster, where it has no bits.
const INHERITED_BITMAPS = /Alarm\.(Reset|ModifyEnabledAlarms)$/;

const ajv = new Ajv2020({ strict: false, allowUnionTypes: true, validateFormats: false });
const compiled = new Map<string, ValidateFunction>();

/** Many values have the same schema, and compiling is most of the work here. */
function validatorOf(schema: object): ValidateFunction {
  const text = JSON.stringify(schema);
  const validate = compiled.get(text) ?? ajv.compile(schema);
  compiled.set(text, validate);
  return validate;
}

/** Every value that the standard has, as [path, shape]. */
function everyShape(): readonly (readonly [string, ValueShape])[] {
  return standardClusterNames().flatMap((name) => {
    const cluster = standardClusterShape(name);
    if (cluster === undefined) return [];
    return [
      ...[...cluster.attributes.values()].map((attribute) => [`${name}.${attribute.name}`, attribute.shape] as const),
      ...[...cluster.commands.values()].flatMap((command) => [
        [`${name}.${command.name}()`, command.request] as const,
        ...(command.response ? [[`${name}.${command.name} response`, command.response] as const] : []),
      ]),
      ...[...cluster.events.values()].map((event) => [`${name}.${event.name}!`, event.shape] as const),
    ];
  });
}

// The whole standard: a machine that others keep busy takes minutes for it.
/** Every cluster of the standard with all its features and elements. */
const standardClusters = () => standardClusterNames().flatMap((name) => standardCluster(name) ?? []);

describe('the standard data model', { timeout: 300_000 }, () => {
  test('has every cluster, command, attribute, event and device type of the standard', () => {
    const clusters = standardClusters();
    const count = (of: (cluster: (typeof clusters)[number]) => number): number => clusters.reduce((sum, cluster) => sum + of(cluster), 0);
    expect(clusters.length).toBe(135);
    expect(count(({ commands }) => commands.length)).toBe(355);
    expect(count(({ attributes }) => attributes.length)).toBe(1076);
    expect(count(({ attributes }) => attributes.filter(({ writable }) => writable).length)).toBe(142);
    expect(count(({ events }) => events.length)).toBe(137);
    expect(count(({ commands }) => commands.filter(({ timed }) => timed).length)).toBe(35);
    expect(standardDeviceTypes().length).toBeGreaterThanOrEqual(91);
  });

  test('every schema compiles', () => {
    const schemas = standardClusters().flatMap(({ attributes, commands, events }) => [
      ...attributes.map(({ schema }) => schema),
      ...commands.flatMap(({ parameters, returns }) => [parameters, ...(returns ? [returns] : [])]),
      ...events.map(({ schema }) => schema),
    ]);
    expect(schemas.length).toBe(1690);
    for (const schema of schemas) expect(() => validatorOf(schema)).not.toThrow();
  });

  test('every value that a shape allows fits its schema and survives the conversion to matter.js and back', () => {
    for (const [path, shape] of everyShape()) {
      const validate = validatorOf(schemaOf(shape));
      const samples = fc.sample(anyValueOf(shape), { numRuns: 3, seed: 7 });
      for (const json of samples) {
        expect(validate(json), `${path} ${JSON.stringify(json)} ${JSON.stringify(validate.errors)}`).toBe(true);
        expect(toJson(shape, fromJson(shape, json)), path).toEqual(json);
      }
    }
  });

  test('command fields survive the TLV codec of the wire', () => {
    let checked = 0;
    for (const model of Matter.clusters) checked += checkCommands(model);
    expect(checked).toBe(355);
  });

  test('attribute values survive the TLV codec of the wire', () => {
    let checked = 0;
    for (const model of Matter.clusters) checked += checkAttributes(model);
    expect(checked).toBe(1076);
  });
});

function checkAttributes(model: ClusterModel): number {
  const cluster = model.id === undefined ? undefined : standardClusterShape(model.name);
  if (cluster === undefined) return 0;
  for (const { id, name, shape } of cluster.attributes.values()) {
    const attribute = model.attributes(id);
    if (attribute === undefined) throw new RangeError(`${model.name} has no attribute ${name}`);
    checkTlv(TlvOfModel(attribute as ValueModel), shape, `${model.name}.${name}`);
  }
  return cluster.attributes.size;
}

function checkCommands(model: ClusterModel): number {
  const cluster = model.id === undefined ? undefined : standardClusterShape(model.name);
  if (cluster === undefined) return 0;
  for (const { id, name, request } of cluster.commands.values()) {
    const command = [...model.commands].find((candidate) => candidate.id === id && candidate.isRequest);
    if (command === undefined) throw new RangeError(`${model.name} has no command ${name}`);
    if (request.fields.length > 0 && !INHERITED_BITMAPS.test(`${model.name}.${name}`))
      checkTlv(TlvOfModel(command as ValueModel), request, `${model.name}.${name}`);
  }
  return cluster.commands.size;
}

function checkTlv(tlv: TlvSchema<unknown>, shape: ValueShape, path: string): void {
  for (const json of fc.sample(anyValueOf(shape), { numRuns: 2, seed: 11 })) {
    const value = withFabricIndex(fromJson(shape, json));
    expect(toJson(shape, tlv.decode(tlv.encode(value))), path).toEqual(toJson(shape, value));
  }
}

// The device fills in whose entry it is; the codec insists on the field.
function withFabricIndex(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  return value.map((entry: unknown) =>
    typeof entry === 'object' && entry !== null && !('length' in entry) ? { fabricIndex: 1, ...entry } : entry,
  );
}
