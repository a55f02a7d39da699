import { describe, expect, it } from 'vitest';
import { jobTools } from '../../../src/calls/jobs/job-directory.ts';
import { approvalTools } from '../../../src/tools/builtin/approval-tools.ts';
import { jobsHere } from '../../calls/pipeline-fixture.ts';
import { homeWith } from '../many-devices.ts';
import { modernClient } from '../mcp-clients.ts';

/** Tokenizers of today make more characters than this of a token of English and JSON, so that the count is an upper bound. */
const CHARACTERS_PER_TOKEN = 3.3;
const TOOLS_OF_A_DEVICE = 6;

type Room = Awaited<ReturnType<typeof homeWith>>;

function addDevices({ addTool }: Room, count: number): void {
  for (let index = 0; index < count * TOOLS_OF_A_DEVICE; index++) {
    const device = `lamp-${Math.floor(index / TOOLS_OF_A_DEVICE)}`;
    addTool({ name: `${device}_do_${index}`, description: 'Does one thing', namespace: 'matter', metadata: { device, area: 'Hall' } });
  }
}

function addHubTools({ registry, jobs }: Room): void {
  const unused = { approvals: {}, approvers: {}, authorizer: {} } as unknown as Parameters<typeof approvalTools>[0];
  for (const tool of [...jobTools(jobsHere(jobs)), ...approvalTools(unused)]) registry.register(tool);
}

describe('the default view at 100 devices', () => {
  it('has a dozen tools or a few more, and needs at most 3,000 tokens', async () => {
    const setup = await homeWith(['Kitchen', 'ExtendedColorLight'], ['Hall', 'Thermostat']);
    addHubTools(setup);
    addDevices(setup, 98);
    const client = await modernClient(setup.httpApi);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).slice(8)).toEqual([
      'turn_on_light',
      'turn_off_light',
      'set_thermostat',
      'set_cover',
      'control_area',
      'job_status',
      'list_approvals',
    ]);
    expect(JSON.stringify(tools).length / CHARACTERS_PER_TOKEN).toBeLessThanOrEqual(3_000);
  });
});
