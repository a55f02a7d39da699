import { readFileSync, statSync } from 'node:fs';
import type { KnownNames, RuleCheck, RuleWarning } from '../../core/auth/rules.ts';
import { locatedYaml, parseCheckedYaml } from '../../core/config/checked-yaml.ts';
import { areaKey } from '../../core/devices/device-names.ts';
import { nearestTexts } from '../../core/edit-distance.ts';
import { AtmoError } from '../../core/errors.ts';
import { type JsonObject, present } from '../../core/json.ts';
import { RULES_SCHEMA, type RuleEntry, type RulesFile, WRITABLE_BY_OTHERS } from './rule-file.ts';
import { type Rule, RuleSet } from './rule-set.ts';
import { isWider, isWiderComparison, type NamePattern, type Refuse, type RuleTerms, termsOf, ZoneClock } from './rule-terms.ts';

/** The compiled rules of a file, the time zone of the times in the rules, and warnings about the rules. */
export interface CompiledRules {
  readonly set: RuleSet;
  readonly zone: ZoneClock;
  /** Probable mistakes that can be found from the file alone. */
  readonly warnings: readonly RuleWarning[];
}

/** Returns the empty rule set of a hub without a rules file. */
export function noRules(): CompiledRules {
  return { set: new RuleSet([], 'allow'), zone: new ZoneClock(), warnings: [] };
}

/** Compiles the text of a rules file. Throws CONFIG_INVALID with the file and line of the first mistake. */
export function compileRules(text: string, file: string): CompiledRules {
  const content = parseCheckedYaml(text, file, RULES_SCHEMA) as RulesFile;
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
    when: structuredClone(when) as unknown as JsonObject,
    terms: termsOf(when, (path, problem) => refuse(['when', ...path], problem)),
    ...present({ description, persons, reason }),
  };
}

/** Refuses a rule if its name is taken or an earlier rule covers it with another effect. If the effect is equal, returns a warning. */
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

/** Returns whether every call that meets the later rule's conditions also meets the earlier rule's. If so, the later rule never decides. */
export function coversTerms(earlier: RuleTerms, later: RuleTerms): boolean {
  return (
    covers(earlier.agent, later.agent, isWider) &&
    coversWords(earlier.kind, later.kind ?? (later.agent ? ['agent'] : ['owner', 'agent'])) &&
    covers(earlier.tool, later.tool, isWider) &&
    coversWords(earlier.device, later.device) &&
    coversWords(earlier.deviceType, later.deviceType) &&
    coversWords(earlier.area, later.area) &&
    covers(earlier.action, later.action, isWider) &&
    coversWords(earlier.risk, later.risk) &&
    (!earlier.times || earlier.times.includes(later.times)) &&
    covers(earlier.value, later.value, (wide, one) => wide.name === one.name && isWiderComparison(wide.comparison, one.comparison)) &&
    coversParams(earlier, later)
  );
}

/** Returns whether each narrow term is covered by a wide term. An absent wide list covers everything. */
function covers<Term>(
  wide: readonly Term[] | undefined,
  narrow: readonly Term[] | undefined,
  isCovering: (wide: Term, narrow: Term) => boolean,
): boolean {
  return !wide || (narrow?.every((one) => wide.some((other) => isCovering(other, one))) ?? false);
}

function coversWords(wide: readonly string[] | undefined, narrow: readonly string[] | undefined): boolean {
  return covers(wide, narrow, (other, one) => other === one || other === '*');
}

function coversParams(earlier: RuleTerms, later: RuleTerms): boolean {
  return (earlier.param ?? []).every((wide) =>
    (later.param ?? []).some((one) => one.pointer === wide.pointer && isWiderComparison(wide.comparison, one.comparison)),
  );
}

/** Returns warnings about unknown names in rules. An unknown name is not an error, because the device may be added later. */
export function lintRules(rules: readonly Rule[], known: KnownNames): readonly RuleWarning[] {
  const areas = known.areas.map(areaKey);
  return rules.flatMap((rule) => {
    const { device = [], deviceType = [], area = [], value = [], tool = [] } = rule.terms;
    return [
      ...device.filter((id) => id !== '*').flatMap((id) => unknown(rule, 'device', { name: id, known: known.devices })),
      ...area.flatMap((key) => unknown(rule, 'area', { name: key, known: areas })),
      ...deviceType.flatMap((type) => unknown(rule, 'device type', { name: type, known: known.types })),
      ...value.flatMap(({ name }) => unknown(rule, 'value', { name, known: known.values })),
      ...tool.flatMap((pattern) => unknownTool(rule, pattern, known.tools)),
    ];
  });
}

function unknownTool(rule: Rule, { segments: [namespace = '', name] }: NamePattern, tools: readonly string[]): readonly RuleWarning[] {
  if (namespace === '') return [];
  if (name !== undefined) return unknown(rule, 'tool', { name: `${namespace}:${name}`, known: tools });
  return unknown(rule, 'namespace of tools', { name: namespace, known: [...new Set(tools.map((tool) => tool.split(':')[0] ?? ''))] });
}

function unknown(
  rule: Rule,
  what: string,
  { name, known }: { readonly name: string; readonly known: readonly string[] },
): readonly RuleWarning[] {
  if (known.includes(name)) return [];
  const [near] = nearestTexts(name, known, 1);
  const hint = near === undefined ? '' : `; did you mean ${near}?`;
  return [
    {
      line: rule.line,
      message: `the rule ${JSON.stringify(rule.name)} names the ${what} ${JSON.stringify(name)}, which there is not${hint}`,
    },
  ];
}

/** Checks a rules file without a hub. With `known`, also checks the names in the rules. Throws NOT_FOUND if the file cannot be read. */
export function checkRulesFile(file: string, known?: KnownNames): RuleCheck {
  const text = readText(file);
  try {
    const { set, warnings } = compileRules(text, file);
    return { file, count: set.rules.length, warnings: [...openness(file), ...warnings, ...(known ? lintRules(set.rules, known) : [])] };
  } catch (error) {
    if (!(error instanceof AtmoError) || error.code !== 'CONFIG_INVALID') throw error;
    return { file, count: 0, problem: error.message, warnings: [] };
  }
}

/** Returns a warning if other users can write the file, since a hub would refuse it. */
function openness(file: string): RuleCheck['warnings'] {
  if ((statSync(file).mode & WRITABLE_BY_OTHERS) === 0) return [];
  return [{ line: 1, message: `others than its owner can write this file, and the hub refuses it so; run chmod go-w ${file}` }];
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new AtmoError('NOT_FOUND', `The rules file ${file} cannot be read; name another: atmo rules check FILE`, { file }, { cause });
  }
}
