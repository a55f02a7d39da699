import { describe, expect, test } from 'vitest';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import { redact } from '../../../src/core/logger.ts';
import { standardDeviceTypes } from '../../../src/matter/model/data-model.ts';
import { isSchemaObject, visitSchema } from '../../../src/tools/schema/schema-walk.ts';
import { isLineNumber, isParameterNameSecret, maskSecrets } from '../../../src/tools/schema/secrets.ts';
import { describeDeviceType } from '../../fixtures/describe-standard.ts';
import { ownTools } from '../../own-tools.ts';
import { ToolHarness } from '../../profiles/tool-harness.ts';

const harness = await new ToolHarness(
  ...standardDeviceTypes().map(({ name }, at) =>
    describeDeviceType(name, { hasAllElements: true, device: { id: parseDeviceId(`device-${at}`), name } }),
  ),
).start();
const tools = [...ownTools, ...harness.registry.all()];

/** Every parameter of every tool, however deep, as `<tool> <parameter>` with its schema. */
const parameters = tools.flatMap(({ id, definition }) => {
  const found: { place: string; name: string; schema: Record<string, unknown> }[] = [];
  visitSchema(definition.parameters, ({ properties }) => {
    if (!isSchemaObject(properties)) return;
    for (const [name, schema] of Object.entries(properties))
      if (isSchemaObject(schema)) found.push({ place: `${id} ${name}`, name, schema });
  });
  return found;
});

describe('every tool of the hub and of the standard devices', () => {
  test('hides each parameter whose name says that it is a secret', () => {
    const named = parameters.filter(({ name, schema }) => isParameterNameSecret(name) && !isLineNumber(name, schema));
    expect(named.map(({ place }) => place)).toEqual(expect.arrayContaining([expect.stringMatching(/lock\S* pin$/)]));
    expect(named.filter(({ schema }) => schema['x-secret'] !== true).map(({ place }) => place)).toEqual([]);
  });

  test('shows each number that is a line of the board', () => {
    const hidden = parameters.filter(({ name, schema }) => isLineNumber(name, schema) && schema['x-secret'] === true);
    expect(hidden.map(({ place }) => place)).toEqual([]);
  });
});

test.each([
  ['integer', 'PIN code of the front door, typed at the keypad on the GPIO header'],
  ['integer', 'Alarm code'],
])('a PIN of a door stays secret however its schema is written', (type, description) => {
  expect(isLineNumber('pin', { type, description, maximum: 999 } as never, 'Opens the door by GPIO')).toBe(false);
});

test('where no schema is known, a number of two digits that is called pin is a line, and all else a PIN', () => {
  const calls = { type: 'object', properties: { params: { type: 'object', 'x-secret-members': true } } };
  const shown = (pin: string | number) => maskSecrets(calls, { params: { pin } });
  expect([shown(17), shown(1234), shown('17')]).toEqual([17, '[secret]', '[secret]'].map((pin) => ({ params: { pin } })));
  expect([redact({ pin: 17 }), redact({ pin: 1234 }), redact({ pin: '17' })]).toEqual(
    [17, '[redacted]', '[redacted]'].map((pin) => ({ pin })),
  );
});
