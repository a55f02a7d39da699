import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Principal } from '../../core/auth/principal.ts';
import { toAtmoError } from '../../core/errors.ts';
import { type JsonObject, objectOf } from '../../core/json.ts';
import { copyJson } from '../../tools/schema/plain-json.ts';
import { type AgentRecord, isLiving } from '../agent-store.ts';
import type { AgentQueries, CheckPorts, CheckToolPorts } from '../automation-ports.ts';
import { type Behaviour, behaviourOf, type CheckedAutomation, livingBehaviours } from './behaviour.ts';
import { type Finding, SEVERITIES } from './finding.ts';
import { neverComing, neverDone, neverHolding } from './impossible.ts';
import { Influences } from './influences.ts';
import { loopsOf } from './loops.ts';
import { oppositeEffects, ownOpposites } from './opposite-effects.ts';
import { endsBefore, lackingPermissions, refusedByRule, waitsAtNight } from './permitted.ts';
import { wearOf } from './wear.ts';

/** Maximum number of findings about one automation, the gravest first. */
const MAX_FINDINGS = 40;

/**
 * Returns the findings about a candidate: by itself, and together with the automations that live. Runs nothing and changes nothing. The hub does
 * its other work between two automations.
 */
export async function checkAutomation(
  candidate: CheckedAutomation,
  living: readonly CheckedAutomation[],
  ports: CheckPorts,
): Promise<readonly Finding[]> {
  const own = behaviourOf(candidate, ports);
  const findings: Finding[] = [];
  for (const find of BY_ITSELF) {
    findings.push(...find(own, ports));
    await nextTurn();
  }
  const others: Behaviour[] = [];
  for (const automation of living.filter(({ id }) => id !== candidate.id)) {
    const other = livingBehaviours(ports).of(automation);
    others.push(other);
    findings.push(...oppositeEffects(own, other, { count: living.length, ports }));
    await nextTurn();
  }
  findings.push(...loops(own, others, ports));
  return findings.sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity)).slice(0, MAX_FINDINGS);
}

/** What is looked for in an automation alone. */
const BY_ITSELF: readonly ((own: Behaviour, ports: CheckPorts) => readonly Finding[])[] = [
  neverHolding,
  neverDone,
  neverComing,
  lackingPermissions,
  endsBefore,
  refusedByRule,
  waitsAtNight,
  ownOpposites,
  wearOf,
];

function loops(own: Behaviour, others: readonly Behaviour[], ports: CheckPorts): readonly Finding[] {
  const all = [own, ...others.filter(({ automation }) => !automation.isHidden)];
  return loopsOf(own, all, { facts: ports.facts, readings: ports.readings, influences: new Influences(all, ports) });
}

/**
 * Returns the conflicts of an automation that was just made. A check that fails is only logged, because the automation exists by then; the
 * answer has no conflicts in that case.
 */
export async function conflictsOf(record: AgentRecord, by: Principal, ports: CheckToolPorts): Promise<JsonObject[] | undefined> {
  const { id, name, permissions, renewsItself, expiresAtMs } = record;
  const plan = ports.agents.planOf(record);
  if (!plan) return undefined;
  const principal: Principal = { id, kind: 'agent', permissions };
  try {
    return await conflictsWith({ id, name, plan, principal, ...(!renewsItself && { endsAtMs: expiresAtMs }) }, by, ports);
  } catch (thrown) {
    const { code, message } = toAtmoError(thrown);
    ports.logger.warn('automation.not_checked', { agent_id: id, code, problem: message });
    return undefined;
  }
}

/** Returns the findings about a candidate together with the automations that live, as an answer has them. */
export async function conflictsWith(
  candidate: CheckedAutomation,
  by: Principal,
  { agents, check }: Pick<CheckToolPorts, 'agents' | 'check'>,
): Promise<JsonObject[]> {
  const findings = await checkAutomation(candidate, livingAutomations(agents, by), check);
  return findings.map((finding) => objectOf(copyJson(finding)));
}

const HIDDEN = 'an automation that you may not see';

/**
 * Returns the automations that live and are enabled. A stored configuration that this version cannot read is left out: it does not run either.
 * Of an automation that the caller may not see, the name is hidden.
 */
export function livingAutomations(agents: AgentQueries, by: Principal): readonly CheckedAutomation[] {
  const visible = new Set(agents.list(by).map(({ id }) => id));
  const running = agents.records().filter((record) => record.type === 'automation' && isLiving(record) && !record.disabled);
  return running.flatMap((record) => {
    const { id, permissions, renewsItself, expiresAtMs } = record;
    const principal: Principal = { id, kind: 'agent', permissions };
    const plan = agents.planOf(record);
    if (!plan) return [];
    const known = { id, plan, principal, ...(!renewsItself && { endsAtMs: expiresAtMs }) };
    return visible.has(id) ? [{ ...known, name: record.name }] : [{ ...known, name: HIDDEN, isHidden: true }];
  });
}
