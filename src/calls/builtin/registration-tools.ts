import { isoTime } from '../../core/clock.ts';
import type { JsonObject } from '../../core/json.ts';
import { HUB_ACTS } from '../../tools/builtin/hub-tool.ts';
import { defineTool, p } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import type { SeedReport } from '../registration/seed-discovery.ts';
import type { ToolRegistrar } from '../registration/tool-registrar.ts';

interface RegistrationPorts {
  readonly registrar: Pick<ToolRegistrar, 'register' | 'remove' | 'record'>;
  /** Registers the tools that are missing: built-in tools, tools for the board's hardware and tools of the bootstrap file. */
  readonly discover: () => Promise<SeedReport>;
  /** Returns the reason if no call of the tool could run now; otherwise undefined. */
  readonly obstacleTo: (tool: RegisteredTool) => string | undefined;
}

const MAY_REGISTER = { ...HUB_ACTS, permissions: ['tool:register'] } as const;
const text = { type: 'string' } as const;
const texts = { type: 'array', items: text } as const;

/** Returns `register_tool`, `remove_tool` and `discover_tools`, with which callers add and remove tools while the hub runs. */
export function registrationTools(ports: RegistrationPorts): readonly RegisteredTool[] {
  return [registerTool(ports), removeTool(ports), discoverTools(ports)];
}

function registerTool(ports: RegistrationPorts): RegisteredTool {
  return defineTool(
    {
      ...MAY_REGISTER,
      name: 'register_tool',
      title: 'Register a tool',
      description:
        'Registers a tool that calls tools which are there already, in order. {"$param": "level"} in the parameters of a step is a parameter of the new tool, {"$result": "0/temperature"} a value from the result of step 0 by JSON pointer. Every step is a call of whoever calls the tool, with its permissions and approvals; you can only use what you may call yourself. A tool of yours has the namespace agent.',
      parameters: {
        tool: p.record({
          description:
            'The tool: id, name, description, input_schema (name to type word, or JSON Schema), steps [{tool, params}] and, if the last result is not the answer, result',
          secretMembers: true,
        }),
      },
      returns: {
        type: 'object',
        required: ['id', 'created_by', 'created_at', 'permissions'],
        properties: {
          id: { ...text, description: 'Canonical id' },
          created_by: { enum: ['system', 'agent'], description: 'system for a tool of the owner' },
          made_by: { ...text, description: 'Who registered it' },
          created_at: { ...text, format: 'date-time' },
          permissions: { ...texts, description: 'What its caller needs: the permissions of all steps' },
          available: { type: 'boolean', description: 'False where no call of it would run now' },
          unavailable_reason: { ...text, description: 'Why none would' },
        },
      },
      examples: [
        {
          description: 'The time under a name of its own',
          params: {
            tool: {
              id: 'now',
              name: 'Now',
              description: 'Tells the time.',
              input_schema: {},
              steps: [{ tool: 'current_time' }],
              result: { now: { $result: '0/utc' } },
            },
          },
        },
      ],
    },
    async ({ tool }, { principal }) => registered(ports, ports.registrar.register(tool, principal)),
  );
}

function registered({ registrar, obstacleTo }: RegistrationPorts, tool: RegisteredTool): JsonObject {
  const { id, definition } = tool;
  const record = registrar.record(id);
  const obstacle = obstacleTo(tool);
  return {
    id,
    created_by: definition.metadata.createdBy,
    made_by: record?.maker ?? '',
    created_at: isoTime(record?.createdAtMs ?? 0),
    permissions: definition.requires.permissions,
    available: obstacle === undefined,
    ...(obstacle !== undefined && { unavailable_reason: obstacle }),
  };
}

function removeTool({ registrar }: RegistrationPorts): RegisteredTool {
  return defineTool(
    {
      ...MAY_REGISTER,
      name: 'remove_tool',
      title: 'Remove a registered tool',
      description: 'Removes a tool that you or an agent of yours registered; the owner removes any registered one.',
      parameters: { tool_id: p.string({ description: 'Id or name of the tool', minLength: 1, maxLength: 200 }) },
      returns: { type: 'object', required: ['removed'], properties: { removed: { ...text, description: 'Canonical id' } } },
    },
    async ({ tool_id: name }, { principal }) => ({ removed: registrar.remove(name, principal) }),
  );
}

function discoverTools({ discover }: RegistrationPorts): RegisteredTool {
  return defineTool(
    {
      ...MAY_REGISTER,
      name: 'discover_tools',
      title: 'Register what the hub brings',
      description:
        'Registers tools that the hub brings, that its board makes possible (its temperature, outputs, cameras, containers), or that stand in the bootstrap file, where they are not registered already.',
      isIdempotent: true,
      parameters: {},
      returns: {
        type: 'object',
        required: ['registered', 'known', 'waiting', 'left_out', 'board'],
        properties: {
          registered: { ...texts, description: 'Ids of the tools that were missing' },
          known: { ...texts, description: 'Ids of those that were there' },
          waiting: { ...texts, description: 'Tools of the bootstrap file of which a step calls a tool that is not there yet' },
          board: {
            type: 'array',
            description: 'What the board has, and what to set so that tools can use it',
            items: { type: 'object', required: ['part', 'path', 'next'], properties: { part: text, path: text, next: text } },
          },
          left_out: { ...texts, description: 'Tools of the bootstrap file with a mistake: its file, line and reason' },
        },
      },
    },
    async () => {
      const { leftOut, board, ...report } = await discover();
      return {
        ...report,
        board: board.map((part) => ({ ...part })),
        left_out: leftOut.map(({ place, problem }) => `${place}: ${problem}`),
      };
    },
  );
}
