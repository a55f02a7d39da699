import { expect, test } from 'vitest';
import { automationView, fullAutomationView } from '../../src/automations/automation-view.ts';
import { parseAutomation } from '../../src/automations/plan/parse-automation.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { SchemaValidator } from '../../src/tools/schema/schema-validator.ts';
import { listAuthorizer, makeTool, owner } from '../calls/pipeline-fixture.ts';

/** Returns the views of a call of a tool whose parameters have units: the one for all, and the one for who is shown the configuration. */
function viewsOf(params: JsonObject, units: Readonly<Record<string, string>> = {}) {
  const properties = Object.fromEntries(Object.entries(units).map(([name, unit]) => [name, { type: 'number', 'x-unit': unit }]));
  const tool = makeTool({ name: 'probe', title: 'Probe', parameters: { type: 'object', properties } });
  const ports = { registry: { find: () => tool }, things: { nameFor: () => undefined }, authorizer: listAuthorizer };
  const plan = parseAutomation({ trigger: { type: 'hub_start' }, actions: [{ tool: 'probe', params }] }, new SchemaValidator());
  return { short: automationView(plan, owner, ports).actions, full: fullAutomationView(plan, owner, ports).actions };
}

test('the view of a call for who is shown the configuration has all parameters, whatever they are called', () => {
  const others = { tool: 'unlock', title: 'x', params: 1, units: 2, constructor: 3, toString: 4, area: { not: 'a name' } };
  const { short, full } = viewsOf({ ...others, device_id: 'lamp' });
  expect(short).toEqual([{ tool: 'probe', title: 'Probe', device_id: 'lamp' }]);
  expect(full).toEqual([{ tool: 'probe', title: 'Probe', device_id: 'lamp', params: others }]);
});

test('the view of a call has the units of its parameters, unless they do not look like units', () => {
  const units = { level: '%', speed: 'm/s', size: 'µg/m³', wait: 's and then nothing', count: '000', high: 'שׁ' };
  const params = Object.fromEntries(Object.keys(units).map((name) => [name, 1]));
  expect(viewsOf(params, units).full).toEqual([
    { tool: 'probe', title: 'Probe', params, units: { level: '%', speed: 'm/s', size: 'µg/m³' } },
  ]);
});
