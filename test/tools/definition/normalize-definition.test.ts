import { describe, expect, test } from 'vitest';
import { locatedYaml } from '../../../src/core/config/checked-yaml.ts';
import { lintDefinition } from '../../../src/tools/definition/definition-lint.ts';
import { normalizeDefinition, toPublicDefinition } from '../../../src/tools/definition/public-definition.ts';
import { SchemaValidator } from '../../../src/tools/schema/schema-validator.ts';
import { maskSecrets } from '../../../src/tools/schema/secrets.ts';

const notify = {
  name: 'notify',
  namespace: 'core',
  version: '1.0.0',
  description: 'Send notification to a person, device, or channel',
  parameters: {
    type: 'object',
    required: ['recipient', 'message'],
    properties: {
      recipient: { type: 'string', description: 'Email, phone, @handle, or channel ID' },
      message: { type: 'string', description: 'Notification content', maxLength: 4096 },
    },
  },
  returns: { type: 'object', properties: { delivered: { type: 'boolean' } } },
  requires: { capabilities: ['notification'], permissions: ['notify:send'], network: true, gpu: false },
  execution: { timeout_ms: 30000, retries: 2, idempotent: false, async_allowed: true },
  routing: { prefer_local: false, node_affinity: [], hop_limit: 3 },
  metadata: {
    category: 'communicating',
    tags: ['notification'],
    author: 'atmosphere',
    examples: [{ description: 'Send urgent alert', params: { recipient: 'rob@email.com', message: 'Server down!' } }],
  },
};
const lint = (change: object) =>
  lintDefinition(normalizeDefinition({ ...notify, ...change }), new SchemaValidator()).map(
    ({ severity, pointer }) => `${severity} ${pointer}`,
  );
const refused = (input: unknown) => {
  try {
    normalizeDefinition(input);
  } catch (error) {
    return error;
  }
  return 'accepted';
};

describe('the public form', () => {
  test('is understood with and without its wrapper', () => {
    const definition = normalizeDefinition({ $schema: 'https://atmosphere.dev/schemas/tool/v1', tool: notify });
    expect(definition).toEqual(normalizeDefinition(notify));
    expect(definition).toMatchObject({
      requires: { capabilities: ['notification'], permissions: ['notify:send'], network: true, gpuPreferred: false },
      execution: { timeoutMs: 30_000, retries: 2, isIdempotent: false, isAsyncAllowed: true, hasSideEffects: true },
      routing: { preferLocal: false, hopLimit: 3 },
      metadata: { category: 'communicating', title: 'Notify', createdBy: 'system', isDangerous: false },
    });
  });

  test('may have the category at the top and requirements as in the catalogue', () => {
    const definition = normalizeDefinition({
      name: 'control_device',
      description: 'Send command to a device',
      category: 'acting',
      requires: ['device_control'],
      permissions: ['device:control:{device_id}'],
    });
    expect(definition.metadata.category).toBe('acting');
    expect(definition.requires).toMatchObject({ capabilities: ['device_control'], permissions: ['device:control:{device_id}'] });
  });

  test('what is not said gets the careful value', () => {
    expect(normalizeDefinition({ name: 'x', description: 'X' })).toMatchObject({
      namespace: 'core',
      version: '1.0.0',
      parameters: { type: 'object' },
      execution: { timeoutMs: 30_000, retries: 0, isIdempotent: false, hasSideEffects: true, determinism: 'nondeterministic' },
    });
    expect(normalizeDefinition({ name: 'x', description: 'X', requires: { network: true } }).execution.retries).toBe(2);
  });

  test('a time limit that is not said stays the hub’s to say, over any number of conversions', () => {
    const silent = normalizeDefinition({ name: 'x', description: 'X', audit: { log_params: false } });
    const stated = normalizeDefinition({ name: 'x', description: 'X', execution: { timeout_ms: 30_000 } });
    expect(silent.execution.isTimeoutDefault).toBe(true);
    expect(stated.execution).not.toHaveProperty('isTimeoutDefault');
    for (const definition of [silent, stated]) expect(normalizeDefinition(toPublicDefinition(definition))).toEqual(definition);
  });

  test('"type": "any" goes, a parameter called any stays', () => {
    const definition = normalizeDefinition({
      ...notify,
      returns: { type: 'object', properties: { result: { type: 'any' }, type: { type: 'string' } } },
    });
    expect(definition.returns).toEqual({ type: 'object', properties: { result: {}, type: { type: 'string' } } });
  });

  test('a text or number that is called as secrets are is one, unless its maker says that it is none', () => {
    const names = ['pin', 'door_password', 'password', 'apiKey', 'token', 'key', 'code', 'shown_pin'];
    const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]));
    const inner = { type: 'object', properties: { setupCode: { type: 'integer' }, token: { type: 'string', 'x-secret': false } } };
    const { parameters } = normalizeDefinition({
      ...notify,
      parameters: { type: 'object', properties: { ...properties, secret: { type: 'boolean' }, inner } },
    });
    const { inner: marked, ...outer } = parameters.properties as Record<string, Record<string, unknown>>;
    const isSecret = ([, member]: [string, unknown]) => (member as Record<string, unknown>)['x-secret'] === true;
    const secretNames = (members: unknown) =>
      Object.entries(members as object)
        .filter(isSecret)
        .map(([name]) => name);
    expect(secretNames(outer)).toEqual(['pin', 'password', 'apiKey', 'token']);
    expect(secretNames(marked?.properties)).toEqual(['setupCode']);
  });

  const line = { type: 'integer', minimum: 0, maximum: 53 };
  const marksPin = (pin: object, tool: object = {}) => {
    const { parameters } = normalizeDefinition({ ...notify, ...tool, parameters: { type: 'object', properties: { pin } } });
    return (parameters.properties as Record<string, Record<string, unknown>>).pin?.['x-secret'] === true;
  };

  test.each([
    ['a number with fewer digits than a PIN', line],
    ['one of a few numbers', { type: 'integer', enum: [17, 27] }],
    ['a number that its own words place at the board', { type: 'integer', description: 'BCM number' }],
    ['a number of a tool for GPIO', { type: 'integer' }, { name: 'gpio_write', description: 'Sets a GPIO pin' }],
  ])('a pin that is a line of the board is no secret: %s', (_what, pin, tool: object = {}) => {
    expect(marksPin(pin, tool)).toBe(false);
  });

  test.each([
    ['a text', { type: 'string' }],
    ['a text of digits, however it is called', { type: 'string', pattern: '^[0-9]{4,8}$', description: 'GPIO' }],
    ['a number without bounds', { type: 'integer' }],
    ['a number as long as a PIN', { type: 'integer', minimum: 0, maximum: 9999 }],
    ['a number of a tool that opens a door by GPIO', { type: 'integer' }, { description: 'Unlocks the door through GPIO' }],
    ['a line that its maker calls secret', { ...line, 'x-secret': true }],
    ['a line that can only be written', { ...line, writeOnly: true }],
  ])('a pin that may be the code of a door is a secret: %s', (_what, pin, tool: object = {}) => {
    expect(marksPin(pin, tool)).toBe(true);
  });

  test('a parameter that can only be written is a secret by any name', () => {
    const properties = { word: { type: 'string', writeOnly: true }, shown: { type: 'string', writeOnly: true, 'x-secret': false } };
    const { parameters } = normalizeDefinition({ ...notify, parameters: { type: 'object', properties } });
    expect(maskSecrets(parameters, { word: 'open sesame', shown: 'hello' })).toEqual({ word: '[secret]', shown: 'hello' });
  });

  test('a dangerous tool may ask for several persons', () => {
    const definition = normalizeDefinition({ ...notify, dangerous: true, requires: { permissions: ['admin:destroy'], multi_party: 2 } });
    expect(definition.metadata).toMatchObject({ isDangerous: true, approvalsNeeded: 2 });
  });

  test.each([
    [{ ...notify, description: undefined }, '/description'],
    [{ ...notify, descripton: 'x' }, '/descripton'],
    [{ ...notify, execution: { timeout: 5 } }, '/execution/timeout'],
    [{ ...notify, metadata: { category: 'magic' } }, '/metadata/category'],
    [{ ...notify, category: 'acting' }, '/category'],
    [{ ...notify, permissions: ['a:b'] }, '/permissions'],
    [{ ...notify, parameters: { type: 'array' } }, '/parameters/type'],
    [{ ...notify, $schema: 'https://example.org' }, '/$schema'],
    [{ tool: notify, extra: 1 }, '/extra'],
    [{ ...notify, requires: { capabilities: ['a', 1] } }, '/requires/capabilities/1'],
  ])('a mistake is refused with its pointer %#', (input, pointer) => {
    expect(refused(input)).toMatchObject({ code: 'VALIDATION_ERROR', details: { pointer } });
  });

  test('a key written twice is refused with its line', () => {
    expect(() => locatedYaml('{"name":"x",\n"description":"a",\n"name":"y"}', 'tool.json')).toThrow(/line 3/);
    expect(normalizeDefinition(locatedYaml('name: x\ndescription: From YAML', 'tool.yaml').value).name).toBe('x');
  });
});

describe('the lint', () => {
  test('finds nothing in a good definition', () => {
    expect(lint({})).toEqual([]);
  });

  test('a tool that acts requires a permission, for its device or sensor when it names one', () => {
    const device = { type: 'object', properties: { device_id: { type: 'string', description: 'Device' } } };
    const quiet = { execution: { side_effects: false } };
    expect(lint({ requires: {}, metadata: {} })).toEqual(['error /requires/permissions']);
    expect(lint({ requires: {}, metadata: {}, ...quiet })).toEqual([]);
    expect(lint({ parameters: device, metadata: {} })).toEqual(['error /requires/permissions']);
    expect(lint({ parameters: device, metadata: {}, requires: { permissions: ['device:control:{device_id}'] } })).toEqual([]);
  });

  test('every example has to fit the parameters', () => {
    expect(lint({ metadata: { examples: [{ params: { recipient: 'rob' } }] } })).toEqual(['error /metadata/examples/0/params/message']);
  });

  test('parameters without type or description are warned of; required ones that do not exist and foreign references are errors', () => {
    const parameters = { type: 'object', required: ['z'], properties: { x: {}, y: { $ref: 'https://example.org/y', description: 'Y' } } };
    expect(lint({ parameters, metadata: {} })).toEqual([
      'warning /parameters/properties/x',
      'warning /parameters/properties/x',
      'error /parameters/required',
      'error /parameters/properties/y/$ref',
    ]);
  });

  test('a bound that the hub cannot keep is refused', () => {
    expect(lint({ execution: { max_fuel: 5 } })).toEqual(['error /execution/max_fuel']);
  });
});
