import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/json.ts';
import { requireAcceptance } from '../../../src/profiles/tools/run-device-tool.ts';
import { compiledIn, described, runTool } from '../device-fixtures.ts';
import { FakeHome } from '../fake-home.ts';

describe('a response that says no', () => {
  test.each<[JsonObject, RegExp]>([
    [{ commandResponseState: { errorStateId: 'CommandInvalidInState', errorStateLabel: null } }, /command invalid in state/],
    [{ commandResponseState: { errorStateId: 0x81, errorStateDetails: 'Door is open' } }, /status 129 \("Door is open"\)/],
    [{ status: 3, statusText: 'Stop first' }, /status 3 \("Stop first"\)/],
    [{ status: 'UnsupportedArea', statusText: '' }, /unsupported area$/],
  ])('%j is an error that says why', (response, reason) => {
    expect(() => requireAcceptance('Cluster.Command', response)).toThrow(reason);
  });

  test.each<[JsonObject | null]>([
    [null],
    [{}],
    [{ status: 0, statusText: '' }],
    [{ status: 'Success' }],
    [{ commandResponseState: { errorStateId: 'NoError' } }],
    [{ userStatus: 'OccupiedEnabled' }],
  ])('%j is none', (response) => {
    expect(() => requireAcceptance('Cluster.Command', response)).not.toThrow();
  });

  test('fails the tool, and the error contains the state that forbids the command', async () => {
    const description = described('LaundryWasher', { hasAllElements: true });
    const home = new FakeHome(description);
    home.response = { commandResponseState: { errorStateId: 'CommandInvalidInState' } };
    await expect(runTool(home, compiledIn(home, description), { action: 'resume' })).rejects.toMatchObject({
      code: 'CLUSTER_STATUS',
      message: expect.stringContaining('Change that first, then try again'),
      details: { status: 'CommandInvalidInState', state: expect.any(Object) },
    });
    expect(home.reads).toHaveLength(1);
  });

  test('a response that a tool does not declare stays out of its answer', async () => {
    const description = described('RoboticVacuumCleaner', { hasAllElements: true, clusters: ['ServiceArea'] });
    const home = new FakeHome(description);
    home.response = { status: 'Success', statusText: '' };
    expect(await runTool(home, compiledIn(home, description), { action: 'select_areas', params: { areas: [] } })).not.toHaveProperty(
      'response',
    );
  });
});
