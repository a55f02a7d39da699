import type { KnownNames, RuleWarning } from '../../core/access/rules.ts';
import { areaKey } from '../../core/devices/device-facts.ts';
import { nearestTexts } from '../../core/edit-distance.ts';
import type { NamePattern } from './rule-pattern.ts';
import type { Rule } from './rule-set.ts';

/** Names in rules that nothing has: allowed, since a device may come, and often misspelled. */
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
