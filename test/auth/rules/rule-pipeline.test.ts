import { describe, expect, test, vi } from 'vitest';
import { compileRules } from '../../../src/auth/rules/rule-compiler.ts';
import type { ApprovalRequest } from '../../../src/core/auth/approvals.ts';
import type { RuleEngine } from '../../../src/core/auth/principal.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { approverKeyTools } from '../../../src/tools/builtin/approver-key-tools.ts';
import { agent, codeOf, makePipeline, makeTool, owner } from '../../calls/pipeline-fixture.ts';
import { FACTS } from './rule-fixture.ts';

/** The real rules, in a pipeline with two tools that tell whether they ran. */
function room(yaml: string) {
  const { set } = compileRules(yaml, 'rules.yaml');
  const rules: RuleEngine = { judge: (call) => set.judge(call, { facts: FACTS, minute: 0 }) };
  const asked: ApprovalRequest[] = [];
  const pending = async (request: ApprovalRequest) => {
    asked.push(request);
    return {
      state: 'pending',
      approvalId: 'ap-1',
      expiresAt: '2026-01-01T00:10:00Z',
      waitsForS: 600,
      needed: request.personsNeeded,
      given: 0,
      summary: 'kitchen wants it',
      willDo: [],
    } as const;
  };
  const made = makePipeline({
    rules,
    approvals: {
      check: pending,
      peek: pending,
      giveBack: () => {},
      refusalOf: () => undefined,
      stillApprovedBy: () => [],
      withdraw: () => {},
    },
  });
  const handler = vi.fn(async () => ({ ok: true }));
  const argv = { type: 'array', description: 'Words of the command', items: { type: 'string' } };
  made.registry.register(
    makeTool({
      name: 'shell',
      permissions: ['shell:run'],
      execution: { side_effects: true },
      parameters: { type: 'object', properties: { argv }, additionalProperties: false },
      handler,
    }),
  );
  const call = (params: JsonObject, principal = agent('shell:run')) => made.pipeline.call({ principal, tool: 'shell', params });
  return { ...made, call, handler, asked };
}

const SHELL = `
rules:
  - { name: harmless, effect: allow, when: { tool: "core:shell", param: { /argv/0: { one_of: [ls, uptime] } } } }
  - { name: no other commands, effect: deny, reason: only ls and uptime may run, when: { tool: "core:shell" } }
`;

describe('a rule over a call in the pipeline', () => {
  test('blocks it: the caller is told why, the refusal is journaled, nothing runs', async () => {
    const { call, handler, audited } = room(SHELL);
    for (const argv of [['rm', '-rf', '/'], ['rm', '-r', '-f', '/'], ['dd', 'if=/dev/zero'], ['/bin/ls'], ['ls;rm'], []]) {
      const answer = await call({ argv });
      expect(answer, argv.join(' ')).toMatchObject({
        error: {
          code: 'RULE_BLOCKED',
          message: expect.stringContaining('only ls and uptime may run'),
          details: { rule: 'no other commands' },
          retryable: false,
        },
      });
    }
    expect(handler).not.toHaveBeenCalled();
    expect(audited.map(({ kind }) => kind)).toEqual(Array(6).fill('refusal'));
  });

  test('works on parsed arguments: no harmless word is hit', async () => {
    const { call } = room(SHELL);
    expect(codeOf(await call({ argv: ['ls', 'format', 'rm', 'mkfs.txt'] }))).toBe('success');
    const forbidding = room('rules: [{ name: no rm, effect: deny, when: { param: { /argv: { one_of: [rm, dd, mkfs] } } } }]');
    expect(codeOf(await forbidding.call({ argv: ['sudo', 'rm', 'x'] }))).toBe('RULE_BLOCKED');
    expect(codeOf(await forbidding.call({ argv: ['performance', 'added'] }))).toBe('success');
  });

  test('may want people to approve what is not dangerous by itself, for one agent and not for the owner', async () => {
    const { call, asked, handler } = room(
      'rules: [{ name: ask, effect: approve, persons: 2, when: { agent: agent-1, tool: "core:shell" } }]',
    );
    expect(await call({ argv: ['ls'] })).toMatchObject({ error: { code: 'APPROVAL_REQUIRED', details: { needed: 2 } } });
    expect(asked).toMatchObject([{ personsNeeded: 2, toolId: 'core:shell@1.0.0' }]);
    expect(handler).not.toHaveBeenCalled();
    expect(codeOf(await call({ argv: ['ls'] }, owner))).toBe('success');
  });

  test('an allow lifts neither a missing permission nor the approval of a dangerous tool', async () => {
    const { call, registry, pipeline } = room('rules: [{ name: all, effect: allow }]');
    expect(codeOf(await call({ argv: ['ls'] }, agent('shell:look')))).toBe('PERMISSION_DENIED');
    registry.register(makeTool({ name: 'wipe', permissions: ['shell:run'], metadata: { dangerous: true, category: 'acting' } }));
    expect(codeOf(await pipeline.call({ principal: agent('shell:run'), tool: 'wipe', params: {} }))).toBe('APPROVAL_REQUIRED');
  });

  test('about enrolling an approver holds for the confirmation of an offered key too, and not for its refusal', async () => {
    const { asked, registry, pipeline } = room(
      'rules: [{ name: two, effect: approve, persons: 2, when: { tool: ["hub:enroll_approver", "hub:remove_approver"] } }]',
    );
    const offer = { person: 'ann', keyId: 'ab'.repeat(8), key: 'AAAA', label: 'phone', offeredAt: '2026-01-01T00:00:00Z' };
    const confirm = vi.fn(async () => ({ ...offer, enrolledAt: offer.offeredAt }));
    const approvers = { offers: () => [offer], confirm, refuseOffer: async () => offer };
    const people = { personOf: () => undefined, signInOf: () => undefined, offerKey: async () => offer };
    for (const tool of approverKeyTools({ people, approvers })) registry.register(tool);
    const callTool = (tool: string) => pipeline.call({ principal: agent('admin:approvals'), tool, params: { key_id: offer.keyId } });
    expect(await callTool('hub:confirm_approver_key')).toMatchObject({ error: { code: 'APPROVAL_REQUIRED', details: { needed: 2 } } });
    expect(asked).toMatchObject([{ personsNeeded: 2, toolId: 'hub:confirm_approver_key@1.0.0' }]);
    expect(confirm).not.toHaveBeenCalled();
    expect(codeOf(await callTool('hub:refuse_approver_key'))).toBe('success');
  });
});
