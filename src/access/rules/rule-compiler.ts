import type { RuleWarning } from '../../core/access/rules.ts';
import { AtmoError } from '../../core/errors.ts';
import { locatedYaml } from '../../core/settings/checked-yaml.ts';
import { coversTerms } from './rule-coverage.ts';
import { parseRulesFile, type RuleEntry, type RulesFile, shownConditions } from './rule-file.ts';
import { type Rule, RuleSet } from './rule-set.ts';
import { type Refuse, termsOf } from './rule-terms.ts';
import { ZoneClock } from './rule-time.ts';

/** A rules file, understood. */
export interface CompiledRules {
  readonly set: RuleSet;
  readonly zone: ZoneClock;
  /** What is allowed and probably not meant, as far as the file itself shows it. */
  readonly warnings: readonly RuleWarning[];
}

/** What holds where there is no file. */
export function noRules(): CompiledRules {
  return { set: new RuleSet([], 'allow'), zone: new ZoneClock(), warnings: [] };
}

/** Rules from the text of their file; CONFIG_INVALID with file and line of the first mistake. */
export function compileRules(text: string, file: string): CompiledRules {
  const content = parseRulesFile(text, file);
  const { lineOf } = locatedYaml(text, file);
  const refuseAt =
    (...start: readonly (string | number)[]): Refuse =>
    (path, problem) => {
      const line = lineOf([...start, ...path]);
      throw new AtmoError('CONFIG_INVALID', `${file}, line ${line}: ${problem}`, { file, line });
    };
  const zone = zoneOf(content, refuseAt());
  const rules = content.rules.map((entry, index) => ruleOf(entry, lineOf(['rules', index]), refuseAt('rules', index)));
  const warnings = rules.flatMap((rule, index) => overlaps(rule, rules.slice(0, index), refuseAt('rules', index)));
  return { set: new RuleSet(rules, content.default), zone, warnings };
}

function zoneOf({ timezone }: RulesFile, refuse: Refuse): ZoneClock {
  try {
    return new ZoneClock(timezone);
  } catch {
    return refuse(['timezone'], `${JSON.stringify(timezone)} is no IANA time zone; write it such as Europe/Berlin`);
  }
}

function ruleOf(entry: RuleEntry, line: number, refuse: Refuse): Rule {
  const { name, description, effect, persons, reason, when } = entry;
  if (persons !== undefined && effect !== 'approve') refuse(['persons'], `persons has a meaning only with effect: approve, not ${effect}`);
  if (when.agent !== undefined && when.kind === 'owner') refuse(['when', 'agent'], 'the owner is no agent: this rule would fit nobody');
  return {
    name,
    line,
    effect,
    when: shownConditions(when),
    terms: termsOf(when, (path, problem) => refuse(['when', ...path], problem)),
    ...(description !== undefined && { description }),
    ...(persons !== undefined && { persons }),
    ...(reason !== undefined && { reason }),
  };
}

/** Refuses a rule that contradicts an earlier one; warns of one that repeats it. */
function overlaps(rule: Rule, earlier: readonly Rule[], refuse: Refuse): readonly RuleWarning[] {
  const same = earlier.find(({ name }) => name === rule.name);
  if (same) refuse(['name'], `there is a rule ${JSON.stringify(rule.name)} already, in line ${same.line}; names are unique`);
  const covering = earlier.find(({ terms }) => coversTerms(terms, rule.terms));
  if (!covering) return [];
  const where = `the rule ${JSON.stringify(covering.name)} in line ${covering.line} comes first and fits every call that ${JSON.stringify(rule.name)} fits`;
  if (saying(covering) === saying(rule)) return [{ line: rule.line, message: `${where}, with the same effect: this one can go` }];
  return refuse(
    ['name'],
    `the rules contradict each other: ${where}, but says ${saying(covering)} and not ${saying(rule)}; put the narrower rule first`,
  );
}

function saying({ effect, persons = 1 }: Rule): string {
  return effect === 'approve' ? `approve by ${persons}` : effect;
}
