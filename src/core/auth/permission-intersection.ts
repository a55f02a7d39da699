import { type DeviceSection, type Grant, includesGrant, requireGrant } from './permission.ts';

/** Longest resource in a grant that is put together from several, so that its text stays below the limit of a grant. */
const MAX_SECTION_LENGTH = 240;

/**
 * Returns grants that cover only what both lists cover: areas of one list and types of the other become one grant for both. Left out is what
 * no grant can say: a single resource in a group of devices, whose members change, and devices of two types of which each list has one.
 * Throws VALIDATION_ERROR if a grant is malformed.
 */
export function intersectPermissions(one: readonly string[], other: readonly string[]): readonly string[] {
  const others = other.map((text) => ({ text, grant: requireGrant(text) }));
  const common = one.flatMap((text) => {
    const grant = requireGrant(text);
    return others.flatMap((held) => commonGrant({ text, grant }, held) ?? []);
  });
  return withoutIncluded(mergeSections([...new Set(common)]));
}

interface GrantText {
  readonly text: string;
  readonly grant: Grant;
}

function commonGrant(one: GrantText, other: GrantText): string | undefined {
  if (includesGrant(other.grant, one.grant)) return one.text;
  if (includesGrant(one.grant, other.grant)) return other.text;
  const [a, b] = [sectionOf(one.grant), sectionOf(other.grant)];
  if (!a || !b || a.action !== b.action) return undefined;
  const section = { areas: commonNames(a.areas, b.areas), types: commonNames(a.types, b.types) };
  return section.areas?.length === 0 || section.types?.length === 0 ? undefined : textOf(a.action, section);
}

/** A section whose areas or types may be unlimited. */
interface OpenSection {
  readonly areas?: readonly string[] | undefined;
  readonly types?: readonly string[] | undefined;
}

function sectionOf(grant: Grant): (OpenSection & { readonly action: string }) | undefined {
  if (grant.kind !== 'group' && grant.kind !== 'section') return undefined;
  const action = `${grant.namespace}:${grant.action}`;
  if (grant.kind === 'section') return { action, areas: grant.areas, types: grant.types };
  return { action, [grant.group.by === 'area' ? 'areas' : 'types']: [grant.group.name] };
}

function commonNames(one: readonly string[] | undefined, other: readonly string[] | undefined): readonly string[] | undefined {
  return one && other ? one.filter((name) => other.includes(name)) : (one ?? other);
}

function textOf(action: string, { areas, types }: OpenSection): string {
  if (areas && types) return sectionText(action, { areas, types });
  return areas ? `${action}:@area/${areas.join('+')}` : `${action}:@type/${(types ?? []).join('+')}`;
}

function sectionText(action: string, { areas, types }: DeviceSection): string {
  return `${action}:@area/${areas.join('+')}/@type/${types.join('+')}`;
}

/** Puts grants with the same action and areas into one with the types of all. The union is exact, since each has all of its areas. */
function mergeSections(texts: readonly string[]): readonly string[] {
  const groups = Map.groupBy(texts, (text) => {
    const grant = requireGrant(text);
    return grant.kind === 'section' ? `${grant.namespace}:${grant.action}:@area/${grant.areas.join('+')}/@type/` : text;
  });
  return [...groups].flatMap(([head, own]) => (head.endsWith('/@type/') ? mergedTypes(head, own) : own));
}

function mergedTypes(head: string, texts: readonly string[]): readonly string[] {
  const types = new Set(texts.flatMap((text) => text.slice(head.length).split('+')));
  const merged: string[] = [];
  for (const type of types) {
    const last = merged.at(-1);
    const longer = `${last}+${type}`;
    if (last !== undefined && longer.length <= MAX_SECTION_LENGTH) merged[merged.length - 1] = longer;
    else merged.push(`${head}${type}`);
  }
  return merged;
}

function withoutIncluded(texts: readonly string[]): readonly string[] {
  const grants = texts.map((text) => ({ text, grant: requireGrant(text) }));
  const isNeeded = ({ grant }: GrantText, index: number) =>
    !grants.some(
      (other, place) => place !== index && includesGrant(other.grant, grant) && (place < index || !includesGrant(grant, other.grant)),
    );
  return grants.filter(isNeeded).map(({ text }) => text);
}
