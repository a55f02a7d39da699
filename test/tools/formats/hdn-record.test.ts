import { expect, test } from 'vitest';
import { fromHdnRecord, toHdnRecord } from '../../../src/tools/formats/hdn-record.ts';
import { unlockDefinition } from './unlock-definition.ts';

test('an HDN record: flat schemas, optional parameters marked, high safety level means dangerous', () => {
  const record = toHdnRecord(unlockDefinition, 0);
  expect(record).toMatchObject({
    id: 'matter:unlock@1.2.0',
    input_schema: { pin: 'string', 'seconds?': 'int' },
    safety_level: 'high',
    created_by: 'agent',
    created_at: '1970-01-01T00:00:00.000Z',
  });
  expect(toHdnRecord(fromHdnRecord(record), 0)).toEqual(record);
  const seed = {
    ...record,
    id: 'tool_http_get',
    input_schema: { url: 'string', 'selectors?': 'string[]' },
    safety_level: 'low' as const,
  };
  expect(fromHdnRecord(seed)).toMatchObject({
    name: 'tool_http_get',
    parameters: { required: ['url'], properties: { selectors: { type: 'array', items: { type: 'string' } } } },
    execution: { hasSideEffects: false },
  });
  expect(() => fromHdnRecord({ ...record, input_schema: { x: 'datetime' } })).toThrow(/is not a type/);
});
