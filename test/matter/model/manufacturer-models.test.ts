import { describe, expect, test } from 'vitest';
import { clusterShapeOf, describeCluster } from '../../../src/matter/model/data-model.ts';
import { manufacturerModel } from '../../../src/matter/model/manufacturer-clusters.ts';
import { fromJson, toJson } from '../../../src/matter/model/value-json.ts';

const SPARKLE = {
  name: 'Sparkle',
  id: '0xfff1fc01',
  revision: 3,
  types: {
    Mood: { enum: { Calm: 0, Wild: 3 } },
    Parts: { bitmap: { Left: 0, Right: 9 } },
    Spark: {
      struct: [
        { name: 'Hue', type: 'uint8', max: 254 },
        { name: 'Mood', type: 'Mood', optional: true },
      ],
    },
  },
  attributes: [
    { name: 'SparkleCount', id: '0xfff10001', type: 'uint16', writable: true, max: 500 },
    { name: 'SparkleColor', id: 0xfff10002, type: 'string', max: 16 },
    { name: 'Sparks', id: 3, type: 'Spark[]', max: 4 },
    { name: 'Parts', id: 4, type: 'Parts', nullable: true },
  ],
  commands: [
    { name: 'AddSparkles', id: 0, fields: [{ name: 'Amount', type: 'uint8', min: 1, max: 9 }], timed: true, privilege: 'manage' },
    { name: 'Count', id: 1, response: { id: 2, fields: [{ name: 'Total', type: 'uint16' }] } },
  ],
  events: [{ name: 'Fizzled', id: 0, priority: 'critical', fields: [{ name: 'Mood', type: 'Mood' }] }],
};

describe('a manufacturer cluster described in a file', () => {
  const shape = clusterShapeOf(manufacturerModel(SPARKLE, 'sparkle.json'));
  const cluster = describeCluster(shape);

  test('has its names, ids and revision', () => {
    expect(cluster).toMatchObject({ id: 0xfff1fc01, name: 'Sparkle', revision: 3 });
    expect(cluster.attributes.map(({ name, id }) => [name, id])).toEqual([
      ['SparkleCount', 0xfff10001],
      ['SparkleColor', 0xfff10002],
      ['Sparks', 3],
      ['Parts', 4],
    ]);
  });

  test('has schemas for attributes, commands, answers and events', () => {
    expect(cluster.attributes[0]).toMatchObject({ writable: true, schema: { type: 'integer', minimum: 0, maximum: 500 } });
    expect(cluster.attributes[2]?.schema).toMatchObject({
      type: 'array',
      maxItems: 4,
      items: { properties: { hue: { maximum: 254 } }, required: ['hue'] },
    });
    expect(cluster.attributes[3]?.schema).toMatchObject({ type: ['object', 'null'], properties: { left: {}, right: {} } });
    expect(cluster.commands[0]).toMatchObject({
      timed: true,
      privilege: 'manage',
      parameters: { properties: { amount: { minimum: 1, maximum: 9 } }, required: ['amount'] },
    });
    expect(cluster.commands[1]?.returns).toMatchObject({ properties: { total: { type: 'integer' } } });
    expect(cluster.events[0]).toMatchObject({ name: 'Fizzled', priority: 'critical' });
  });

  test('converts values both ways', () => {
    const sparks = shape.attributes.get('Sparks')?.shape ?? expect.unreachable('no attribute');
    const json = [{ hue: 3, mood: 'Wild' }, { hue: 4 }];
    expect(fromJson(sparks, json)).toEqual([{ hue: 3, mood: 3 }, { hue: 4 }]);
    expect(toJson(sparks, fromJson(sparks, json))).toEqual(json);
  });

  test.each([
    ['a missing id', { name: 'X' }, 'id'],
    ['an unknown member', { ...SPARKLE, colour: 1 }, 'colour'],
    ['an unknown type', { ...SPARKLE, attributes: [{ name: 'A', id: 1, type: 'uint7' }] }, '/attributes/0/type: no type uint7'],
    ['a name in the wrong form', { ...SPARKLE, name: 'sparkle' }, '/name'],
    ['no object', null, 'object'],
  ])('with %s is refused, the place told', (_, definition, hint) => {
    expect(() => manufacturerModel(definition, 'sparkle.json')).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(new RegExp(`sparkle.json.*${hint}`)) }),
    );
  });
});
