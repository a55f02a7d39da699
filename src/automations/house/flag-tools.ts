import type { Authorizer } from '../../core/auth/principal.ts';
import { isoTime, parseIsoTime } from '../../core/clock.ts';
import { isJsonObject, type JsonObject, present } from '../../core/json.ts';
import { defineTool, INSTANT, p, resultSchema, TEXT } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool, Restorable } from '../../tools/definition/tool-definition.ts';
import { FLAG_VALUE, IDENTIFIER } from '../plan/schema-parts.ts';
import type { Flag, FlagStore, FlagValue } from './flag-store.ts';

const COMMON = { category: 'managing', capabilities: ['agent_runtime'], isIdempotent: true, preferLocal: true } as const;
const flagName = p.string({ description: 'Name, such as vacation_mode', pattern: IDENTIFIER });
const VALUE = { ...FLAG_VALUE, description: 'Its value' };
const FLAG = {
  type: 'object',
  required: ['flag', 'value', 'set_by', 'since'],
  properties: { flag: TEXT, value: VALUE, set_by: TEXT, since: INSTANT, until: INSTANT },
};

/** Returns the tools for the flags of the house, which rules of automations look at. */
export function flagTools(flags: FlagStore, authorizer: Authorizer): readonly RegisteredTool[] {
  return [setFlagTool(flags), clearFlagTool(flags), listFlagsTool(flags, authorizer)];
}

function setFlagTool(flags: FlagStore): RegisteredTool {
  return defineTool(
    {
      ...COMMON,
      name: 'set_flag',
      title: 'Set a flag of the house',
      description: 'Sets a flag of the house that automations look at, such as vacation_mode, until it is changed or ends.',
      hasSideEffects: true,
      permissions: ['flag:set:{flag}'],
      tags: ['flag', 'mode', 'vacation', 'automation'],
      parameters: {
        flag: flagName,
        value: { ...p.json({ description: 'true, false, a number or a text' }), schema: VALUE },
        until: p.string({ description: 'When it ends, ISO 8601; it stays if absent', format: 'date-time' }).optional(),
      },
      returns: FLAG,
      examples: [{ description: 'Away until somebody changes it', params: { flag: 'vacation_mode', value: true } }],
      restorable: ({ flag }) => restorableFlag(flags, flag),
    },
    async ({ flag: name, value, until }, { principal }) => {
      const untilMs = until === undefined ? undefined : parseIsoTime(until, 'until');
      return flagView(flags.set({ name, value: value as FlagValue, setBy: principal.id, ...(untilMs !== undefined && { untilMs }) }));
    },
  );
}

function clearFlagTool(flags: FlagStore): RegisteredTool {
  return defineTool(
    {
      ...COMMON,
      name: 'clear_flag',
      title: 'End a flag of the house',
      description: 'Ends a flag of the house. For automations it is then false.',
      hasSideEffects: true,
      permissions: ['flag:set:{flag}'],
      tags: ['flag', 'mode', 'automation'],
      parameters: { flag: flagName },
      returns: resultSchema({ changed: { type: 'boolean', description: 'False when it was not set' } }),
      restorable: ({ flag }) => restorableFlag(flags, flag),
    },
    async ({ flag }) => ({ changed: flags.clear(flag) }),
  );
}

/** A flag comes back with its value and its end, or it is ended if it was not set. */
function restorableFlag(flags: FlagStore, name: string): Restorable {
  return {
    path: `flag/${name}`,
    now: () => {
      const flag = flags.get(name);
      return flag ? present({ value: flag.value, until: flag.untilMs === undefined ? undefined : isoTime(flag.untilMs) }) : null;
    },
    restore: (before) =>
      isJsonObject(before)
        ? { tool: 'core:set_flag', params: { ...before, flag: name } }
        : { tool: 'core:clear_flag', params: { flag: name } },
  };
}

function listFlagsTool(flags: FlagStore, authorizer: Authorizer): RegisteredTool {
  return defineTool(
    {
      ...COMMON,
      name: 'list_flags',
      title: 'List the flags of the house',
      description: 'Lists the flags of the house that the caller may read: their values, who set them, since when and until when.',
      hasSideEffects: false,
      tags: ['flag', 'mode', 'automation'],
      parameters: {},
      returns: resultSchema({ flags: { type: 'array', items: FLAG } }),
    },
    async (_params, { principal }) => {
      const mayRead = ({ name }: Flag) => authorizer.authorize(principal, [`flag:read:${name}`]).allowed;
      return { flags: flags.list().filter(mayRead).map(flagView) };
    },
  );
}

function flagView({ name, value, setBy, sinceMs, untilMs }: Flag): JsonObject {
  return present({
    flag: name,
    value,
    set_by: setBy,
    since: isoTime(sinceMs),
    until: untilMs === undefined ? undefined : isoTime(untilMs),
  });
}
