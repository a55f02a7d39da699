import { expect, test } from 'vitest';
import { auditPath, NO_FILTER } from '../../../src/web/pages/audit-rows.ts';

test('the path of a page of the audit log has the filter and the end of the last page', () => {
  expect(auditPath(NO_FILTER)).toBe('/api/v1/audit?limit=50');
  expect(auditPath({ agent: 'a&b', tool: '', kind: 'refusal' }, 7)).toBe('/api/v1/audit?limit=50&agent=a%26b&kind=refusal&before=7');
});
