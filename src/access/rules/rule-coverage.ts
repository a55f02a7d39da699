import { isWiderComparison } from './rule-comparison.ts';
import { isWider, type NamePattern } from './rule-pattern.ts';
import type { RuleTerms } from './rule-terms.ts';

/** True when every call that the later terms fit is one that the earlier fit too: the later rule never gets to decide. */
export function coversTerms(earlier: RuleTerms, later: RuleTerms): boolean {
  return (
    coversPatterns(earlier.agent, later.agent) &&
    coversKinds(earlier, later) &&
    coversPatterns(earlier.tool, later.tool) &&
    coversWords(earlier.device, later.device) &&
    coversWords(earlier.deviceType, later.deviceType) &&
    coversWords(earlier.area, later.area) &&
    coversPatterns(earlier.action, later.action) &&
    coversWords(earlier.risk, later.risk) &&
    (!earlier.times || earlier.times.includes(later.times)) &&
    coversValues(earlier, later) &&
    coversParams(earlier, later)
  );
}

function coversPatterns(wide: readonly NamePattern[] | undefined, narrow: readonly NamePattern[] | undefined): boolean {
  if (!wide) return true;
  return narrow?.every((one) => wide.some((other) => isWider(other, one))) ?? false;
}

function coversWords(wide: readonly string[] | undefined, narrow: readonly string[] | undefined): boolean {
  if (!wide) return true;
  return narrow?.every((one) => wide.includes(one) || wide.includes('*')) ?? false;
}

/** A rule that names an agent is about agents. */
function coversKinds(earlier: RuleTerms, later: RuleTerms): boolean {
  return coversWords(earlier.kind, later.kind ?? (later.agent ? ['agent'] : ['owner', 'agent']));
}

function coversValues(earlier: RuleTerms, later: RuleTerms): boolean {
  const wide = earlier.value;
  if (!wide) return true;
  const isCovered = (one: NonNullable<RuleTerms['value']>[number]): boolean =>
    wide.some((other) => other.name === one.name && isWiderComparison(other.comparison, one.comparison));
  return later.value?.every(isCovered) ?? false;
}

function coversParams(earlier: RuleTerms, later: RuleTerms): boolean {
  return (earlier.param ?? []).every((wide) =>
    (later.param ?? []).some((one) => one.pointer === wide.pointer && isWiderComparison(wide.comparison, one.comparison)),
  );
}
