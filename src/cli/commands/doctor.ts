import { toAtmoError } from '../../core/errors.ts';
import { isJsonObject } from '../../core/json.ts';
import type { Command } from '../command.ts';
import { type CheckResult, machineChecks } from '../doctor-checks.ts';
import type { HubClient } from '../hub-client.ts';
import { objectsIn } from '../json-list.ts';
import { textTable } from '../text-table.ts';
import { schemaChecks, toolChecks } from '../tool-checks.ts';

const PAGE = 1_000;

export const doctor: Command = {
  name: 'doctor',
  summary: 'look for what is wrong and say what to do; with TOOL, why an agent cannot use it',
  operands: [{ name: 'TOOL', help: 'check list of one tool', isOptional: true }],
  async run({ hub, io, output, operands: [tool] }) {
    const checks = [...machineChecks(io.env), ...(await hubChecks(hub))];
    const isHubThere = checks.some(({ check, state }) => check === 'hub' && state !== 'failed');
    if (tool !== undefined && isHubThere) checks.push(...(await toolChecks(hub, tool)));
    const failed = checks.filter(({ state }) => state === 'failed');
    output.answer({ ok: failed.length === 0, checks }, () =>
      textTable(
        ['CHECK', 'STATE', 'FOUND', 'WHAT TO DO'],
        checks.map(({ check, state, found, advice }) => [check, state, found, advice ?? '']),
      ),
    );
    if (failed.length === 0) return undefined;
    return isHubThere ? 1 : 5;
  },
};

async function hubChecks(hub: HubClient): Promise<readonly CheckResult[]> {
  try {
    const health = await hub.health();
    const problems = Array.isArray(health.problems) ? health.problems.join('; ') : '';
    const isWell = health.status === 'ok';
    const answers: CheckResult = isWell
      ? { check: 'hub', state: 'ok', found: `${health.node_id}, version ${health.version}` }
      : {
          check: 'hub',
          state: 'warning',
          found: `${health.status}: ${problems}`,
          advice: 'its log says more: journalctl -u atmosphere-edge',
        };
    return [answers, ...(await Promise.all([accepted(hub), halfCommissioned(hub), toolSchemas(hub)]))];
  } catch (thrown) {
    return [
      { check: 'hub', state: 'failed', found: toAtmoError(thrown).message, advice: 'atmo serve, or systemctl status atmosphere-edge' },
    ];
  }
}

async function accepted(hub: HubClient): Promise<CheckResult> {
  return guarded('token is accepted', async () => {
    const devices = objectsIn(await hub.get('/api/v1/devices'), 'devices');
    return { check: 'token is accepted', state: 'ok', found: `${devices.length} devices` };
  });
}

async function halfCommissioned(hub: HubClient): Promise<CheckResult> {
  const check = 'half commissioned devices';
  return guarded(check, async () => {
    const answer = await hub.call('hub:half_commissioned', {});
    const devices = Array.isArray(answer) ? answer.filter(isJsonObject) : [];
    if (devices.length === 0) return { check, state: 'ok', found: 'none' };
    const advice = devices.map((device) => device.advice).join('; ');
    return { check, state: 'warning', found: devices.map((device) => device.id).join(', '), advice };
  });
}

async function toolSchemas(hub: HubClient): Promise<CheckResult> {
  const check = 'tool schemas';
  return guarded(check, async () => {
    const tools = objectsIn(await hub.get('/api/v1/tools', { limit: PAGE }), 'tools');
    const wrong = tools.filter((tool) => schemaChecks(tool).some(({ state }) => state !== 'ok')).map((tool) => tool.id);
    if (wrong.length === 0) return { check, state: 'ok', found: `${tools.length} tools` };
    return { check, state: 'warning', found: `${wrong.length} of ${tools.length} tools`, advice: `atmo doctor ${wrong[0]}` };
  });
}

async function guarded(check: string, run: () => Promise<CheckResult>): Promise<CheckResult> {
  try {
    return await run();
  } catch (thrown) {
    const error = toAtmoError(thrown);
    return { check, state: 'failed', found: `${error.code}: ${error.message}`, advice: 'see the checks above' };
  }
}
