import type { Principal } from '../../core/auth/principal.ts';
import type { JsonObject } from '../../core/json.ts';
import type { SchemaValidator } from '../../tools/schema/schema-validator.ts';
import { type AgentRecord, isLiving } from '../agent-store.ts';
import type { CheckPorts } from '../automation-ports.ts';
import { parseAutomation } from '../plan/parse-automation.ts';
import type { AutomationPlan } from '../plan/plan-schema.ts';
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

/**
 * Returns the automations of the records that live and are enabled. A stored configuration that this version cannot read is left out: it does
 * not run either. `visible` has the ids of the agents that the caller may see.
 */
export function livingAutomations(
  records: readonly AgentRecord[],
  { visible, validator }: { readonly visible: ReadonlySet<string>; readonly validator: SchemaValidator },
): readonly CheckedAutomation[] {
  const running = records.filter((record) => record.type === 'automation' && isLiving(record) && !record.disabled);
  return running.flatMap(({ id, name, permissions, config }) => {
    const principal: Principal = { id, kind: 'agent', permissions };
    const plan = planOf(config, validator);
    if (!plan) return [];
    return visible.has(id) ? [{ id, name, plan, principal }] : [{ id, name: HIDDEN, plan, principal, isHidden: true }];
  });
}

const HIDDEN = 'an automation that you may not see';

/** Returns the plan; undefined for a stored configuration that this version cannot read any more. */
export function planOf(config: JsonObject, validator: SchemaValidator): AutomationPlan | undefined {
  try {
    return parseAutomation(config, validator);
  } catch {
    return undefined;
  }
}
