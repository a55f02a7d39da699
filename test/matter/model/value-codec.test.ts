import { describe, expect, test } from 'vitest';
import { describeCluster, standardClusterShape } from '../../../src/matter/model/data-model.ts';
import { fromJson, refuseOutsideLimits, schemaOf, toJson } from '../../../src/matter/model/value-json.ts';
import type { ValueShape } from '../../../src/matter/model/value-shape.ts';
import { minimalCluster } from '../../fixtures/minimal-cluster.ts';

function attribute(cluster: string, name: string): ValueShape {
  return standardClusterShape(cluster)?.attributes.get(name)?.shape ?? expect.unreachable(`no ${cluster}.${name}`);
}

const wide: ValueShape = { kind: 'integer', isNullable: false, isWide: true, min: 0n, max: (1n << 64n) - 1n };
const bytes: ValueShape = { kind: 'bytes', isNullable: true, minBytes: 2, maxBytes: 4 };
const text: ValueShape = { kind: 'text', isNullable: false, minBytes: 0, maxBytes: 4 };

describe('values between JSON and matter.js', () => {
  test('an enum is written by name, read by name or number, and an unknown number of a device stays a number', () => {
    const mode = attribute('Thermostat', 'SystemMode');
    expect(toJson(mode, 4)).toBe('Heat');
    expect(fromJson(mode, 'Heat')).toBe(4);
    expect(fromJson(mode, 4)).toBe(4);
    expect(toJson(mode, 200)).toBe(200);
    expect(() => fromJson(mode, 'Hot')).toThrow(/must be one of Off, Auto, Cool, Heat/);
    expect(schemaOf(attribute('ColorControl', 'ColorMode'))).toMatchObject({ anyOf: [{ enum: expect.any(Array) }, { type: 'integer' }] });
  });

  test('a bitmap is written with every flag and read with some', () => {
    const options = attribute('LevelControl', 'Options');
    expect(toJson(options, { executeIfOff: true })).toEqual({ executeIfOff: true, coupleColorTempToLevel: false });
    expect(fromJson(options, { executeIfOff: true })).toEqual({ executeIfOff: true });
    expect(() => fromJson(options, { executeIfOn: true })).toThrow(/executeIfOn is not known; known are executeIfOff/);
  });

  test('integers beyond 2^53 are text and come back exact', () => {
    const huge = (1n << 64n) - 1n;
    expect(toJson(wide, huge)).toBe('18446744073709551615');
    expect(fromJson(wide, '18446744073709551615')).toBe(huge);
    expect(fromJson(wide, 7)).toBe(7n);
    expect(toJson(wide, 7n)).toBe(7);
    expect(() => fromJson(wide, '18446744073709551616')).toThrow(/whole number/);
    expect(() => fromJson(wide, '7.5')).toThrow(/whole number/);
  });

  test('octets are base64 with their real length limits', () => {
    expect(toJson(bytes, new Uint8Array([1, 2, 3]))).toBe('AQID');
    expect(fromJson(bytes, 'AQID')).toEqual(new Uint8Array([1, 2, 3]));
    expect(fromJson(bytes, null)).toBeNull();
    expect(() => fromJson(bytes, 'AQIDBAU=')).toThrow(/2 to 4 octets long, is 5/);
    expect(() => fromJson(bytes, 'AQ=')).toThrow(/base64/);
  });

  test('the length of a text counts octets of UTF-8', () => {
    expect(fromJson(text, 'abcd')).toBe('abcd');
    expect(() => fromJson(text, 'äöü')).toThrow(/is 6/);
  });

  test('null is refused unless the value is nullable, also in structs', () => {
    expect(() => fromJson(text, null)).toThrow(/must not be null/);
    const areas = attribute('ServiceArea', 'SupportedAreas');
    const entry = areas.kind === 'list' && areas.entry.kind === 'struct' ? areas.entry : expect.unreachable('no list of structs');
    const info = entry.fields.find(({ name }) => name === 'areaInfo')?.shape;
    const landmark = info?.kind === 'struct' ? info.fields.find(({ name }) => name === 'landmarkInfo')?.shape : undefined;
    expect(landmark?.isNullable).toBe(true);
    expect(schemaOf(landmark ?? text)).toMatchObject({ type: ['object', 'null'] });
  });

  test('an error names the JSON pointer of a nested mistake', () => {
    const acl = attribute('AccessControl', 'Acl');
    const entry = { privilege: 'View', authMode: 'Case', subjects: null, targets: [{ cluster: 6, endpoint: -1, deviceType: null }] };
    expect(() => fromJson(acl, [entry])).toThrow(
      expect.objectContaining({ details: { errors: [expect.objectContaining({ pointer: '/0/targets/0/endpoint' })] } }),
    );
  });
});

describe('limits that the device itself sets', () => {
  const setpoint = attribute('Thermostat', 'OccupiedHeatingSetpoint');
  const state = { minHeatSetpointLimit: 700, maxHeatSetpointLimit: 3000 };

  test('narrow the schema and refuse values outside', () => {
    expect(schemaOf(setpoint, state)).toMatchObject({ minimum: 700, maximum: 3000 });
    expect(() => refuseOutsideLimits(setpoint, 3001, { state, pointer: '' })).toThrow(/from 700 to 3000 on this device/);
    expect(() => refuseOutsideLimits(setpoint, 3000, { state, pointer: '' })).not.toThrow();
  });

  test('are ignored when no value lies between them', () => {
    expect(schemaOf(setpoint, { minHeatSetpointLimit: 3000, maxHeatSetpointLimit: 700 })).toMatchObject({ minimum: -32768 });
  });

  test('may be expressions over structs', () => {
    const holdTime = attribute('OccupancySensing', 'HoldTime');
    expect(schemaOf(holdTime, { holdTimeLimits: { holdTimeMin: 5, holdTimeMax: 60 } })).toMatchObject({ minimum: 5, maximum: 60 });
  });
});

describe('units', () => {
  test('come from the type, the prose of the specification, or the device', () => {
    const unit = (cluster: string, name: string) => {
      const found = minimalCluster(cluster, [])?.attributes.find((candidate) => candidate.name === name);
      return [found?.unit, found?.scale];
    };
    expect(unit('TemperatureMeasurement', 'MeasuredValue')).toEqual(['°C', 0.01]);
    expect(unit('RelativeHumidityMeasurement', 'MeasuredValue')).toEqual(['%', 0.01]);
    expect(unit('PressureMeasurement', 'MeasuredValue')).toEqual(['kPa', 0.1]);
    const co2 = standardClusterShape('CarbonDioxideConcentrationMeasurement') ?? expect.unreachable('no cluster');
    const measured = describeCluster(co2, { measurementUnit: 0 }).attributes.find(({ name }) => name === 'MeasuredValue');
    expect([measured?.unit, measured?.scale]).toEqual(['ppm', 1]);
  });
});
