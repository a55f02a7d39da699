/**
 * A name, compared segment by segment and never as text: `exact` itself alone, `below` every name that goes on after it,
 * `tree` both.
 */
export interface NamePattern {
  readonly segments: readonly string[];
  readonly reach: 'exact' | 'below' | 'tree';
}

/** True when the pattern names this. */
export function matches({ segments, reach }: NamePattern, name: readonly string[]): boolean {
  if (reach === 'exact' && name.length !== segments.length) return false;
  if (reach === 'below' && name.length <= segments.length) return false;
  return startsWith(name, segments);
}

/** True when whatever `narrow` names, `wide` names too. */
export function isWider(wide: NamePattern, narrow: NamePattern): boolean {
  if (wide.reach === 'exact') return narrow.reach === 'exact' && matches(wide, narrow.segments);
  const shortest = narrow.segments.length + (narrow.reach === 'below' ? 1 : 0);
  const isLongEnough = wide.reach === 'tree' || shortest > wide.segments.length;
  return isLongEnough && startsWith(narrow.segments, wide.segments);
}

/** An agent and whoever it spawns (`research`), or only those (`research/*`), or every agent (`*`); undefined for other forms. */
export function agentPattern(text: string): NamePattern | undefined {
  const below = withoutStar(text.split('/'));
  const segments = below ?? text.split('/');
  return segments.every((part) => AGENT_SEGMENT.test(part)) ? { segments, reach: below ? 'below' : 'tree' } : undefined;
}

/** `core:echo` in every version, `core:echo@1.0.0`, `matter:*` or `*`; undefined for other forms. */
export function toolPattern(text: string): NamePattern | undefined {
  if (text === '*') return { segments: [], reach: 'below' };
  const whole = /^([a-z][a-z0-9-]*):(\*|[A-Za-z][A-Za-z0-9_.-]*)(?:@([0-9][A-Za-z0-9.+-]*))?$/.exec(text);
  const [, namespace = '', name = '', version] = whole ?? [];
  if (!whole || (name === '*' && version !== undefined)) return undefined;
  if (name === '*') return { segments: [namespace], reach: 'below' };
  return version === undefined ? { segments: [namespace, name], reach: 'tree' } : { segments: [namespace, name, version], reach: 'exact' };
}

/** Namespace, name and version of a tool's canonical id. */
export function toolSegments(toolId: string): readonly string[] {
  const colon = toolId.indexOf(':');
  const at = toolId.indexOf('@', colon);
  const end = at < 0 ? toolId.length : at;
  return [toolId.slice(0, colon), toolId.slice(colon + 1, end), toolId.slice(end + 1)];
}

/** `DoorLock/UnlockDoor`, `DoorLock/*` or `*`, in any spelling of the specification's names; undefined for other forms. */
export function actionPattern(text: string): NamePattern | undefined {
  const below = withoutStar(text.split('/'));
  const segments = (below ?? text.split('/')).map(plainName);
  if (segments.length > 2 || (!below && segments.length !== 2) || !segments.every((part) => /^[a-z0-9]+$/.test(part))) return undefined;
  return { segments, reach: below ? 'below' : 'exact' };
}

/** `UnlockDoor`, `unlockDoor` and `unlock_door` are one name. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, '');
}

const AGENT_SEGMENT = /^[A-Za-z0-9_@.+-]+$/;

function withoutStar(parts: readonly string[]): readonly string[] | undefined {
  return parts.at(-1) === '*' ? parts.slice(0, -1) : undefined;
}

function startsWith(name: readonly string[], start: readonly string[]): boolean {
  if (start.length > name.length) return false;
  for (let index = 0; index < start.length; index++) if (start[index] !== name[index]) return false;
  return true;
}
