import type { Principal } from '../../core/auth/principal.ts';
import { toAtmoError } from '../../core/errors.ts';
import { type JsonObject, objectOf } from '../../core/json.ts';
import { copyJson } from '../../tools/schema/plain-json.ts';
import type { AgentRunner } from '../agent-runner.ts';
import { type AgentRecord, isLiving } from '../agent-store.ts';
import type { CheckPorts, CheckToolPorts } from '../automation-ports.ts';
import { type Behaviour, behaviourOf, type CheckedAutomation } from './behaviour.ts';
import { type Finding, SEVERITIES } from './finding.ts';
import { neverComing, neverHolding } from './impossible.ts';
import { Influences } from './influences.ts';
import { loopsOf } from './loops.ts';
import { oppositeEffects, ownOpposites } from './opposite-effects.ts';
import { endsBefore, lackingPermissions, waitsAtNight } from './permitted.ts';
import { refusedByRule } from './refused-by-rule.ts';
import { wearOf } from './wear.ts';

/** Maximum number of findings about one automation, the gravest first. */
const MAX_FINDINGS = 40;

/** Returns the findings about a candidate: by itself, and together with the automations that live. Runs nothing and changes nothing. */
export function checkAutomation(candidate: CheckedAutomation, living: readonly CheckedAutomation[], ports: CheckPorts): readonly Finding[] {
  const own = behaviourOf(candidate, ports);
  const others = living.filter(({ id }) => id !== candidate.id).map((automation) => behaviourOf(automation, ports));
  const findings = [...byItself(own, ports), ...oppositeEffects(own, others, ports), ...loops(own, others, ports)];
  return findings.sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity)).slice(0, MAX_FINDINGS);
}

function byItself(own: Behaviour, ports: CheckPorts): readonly Finding[] {
  return [
    ...neverHolding(own, ports),
    ...neverComing(own, ports),
    ...lackingPermissions(own, ports),
    ...endsBefore(own, ports),
    ...refusedByRule(own, ports),
    ...waitsAtNight(own, ports),
    ...ownOpposites(own, ports),
    ...wearOf(own, ports),
  ];
}

function loops(own: Behaviour, others: readonly Behaviour[], ports: CheckPorts): readonly Finding[] {
  const all = [own, ...others.filter(({ automation }) => !automation.isHidden)];
  return loopsOf(own, all, { facts: ports.facts, readings: ports.readings, influences: new Influences(all, ports) });
}

/** The agents of the hub, with the plans of those that are automations. */
type AgentRecords = Pick<AgentRunner, 'list' | 'records' | 'planOf'>;

interface CheckFor {
  readonly runner: AgentRecords;
  readonly by: Principal;
  readonly ports: CheckToolPorts;
}

/**
 * Returns the conflicts of an automation that was just made. A check that fails is only logged, because the automation exists by then; the
 * answer has no conflicts in that case.
 */
export function conflictsOf(record: AgentRecord, { runner, by, ports }: CheckFor): JsonObject[] | undefined {
  const { id, name, permissions, renewsItself, expiresAtMs } = record;
  const plan = runner.planOf(record);
  if (!plan) return undefined;
  const principal: Principal = { id, kind: 'agent', permissions };
  try {
    return conflictsWith({ id, name, plan, principal, ...(!renewsItself && { endsAtMs: expiresAtMs }) }, { runner, by, ports });
  } catch (thrown) {
    const { code, message } = toAtmoError(thrown);
    ports.logger.warn('automation.not_checked', { agent_id: id, code, problem: message });
    return undefined;
  }
}

/** Returns the findings about a candidate together with the automations that live, as an answer has them. */
export function conflictsWith(candidate: CheckedAutomation, { runner, by, ports: { check } }: CheckFor): JsonObject[] {
  return checkAutomation(candidate, livingAutomations(runner, by), check).map((finding) => objectOf(copyJson(finding)));
}

const HIDDEN = 'an automation that you may not see';

/**
 * Returns the automations that live and are enabled. A stored configuration that this version cannot read is left out: it does not run either.
 * Of an automation that the caller may not see, the name is hidden.
 */
function livingAutomations(runner: AgentRecords, by: Principal): readonly CheckedAutomation[] {
  const visible = new Set(runner.list(by).map(({ id }) => id));
  const running = runner.records().filter((record) => record.type === 'automation' && isLiving(record) && !record.disabled);
  return running.flatMap((record) => {
    const { id, name, permissions } = record;
    const principal: Principal = { id, kind: 'agent', permissions };
    const plan = runner.planOf(record);
    if (!plan) return [];
    return visible.has(id) ? [{ id, name, plan, principal }] : [{ id, name: HIDDEN, plan, principal, isHidden: true }];
  });
}
