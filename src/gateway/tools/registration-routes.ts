import { toolRoute } from '../calls/tool-route.ts';
import type { Route } from '../door/route.ts';
import type { CallPort } from '../ports.ts';

const TOOL = { type: 'string', description: 'Name of the tool that the step calls' };
const TYPES = { type: 'object', description: 'Parameter to type word (`int`, `string?`), or a JSON Schema' };

/** Body of a registration: the record of source 003 with what it is to do. */
const RECORD = {
  type: 'object',
  required: ['description'],
  properties: {
    id: { type: 'string', description: 'Name of the tool; of an agent in the namespace agent, of the owner in custom' },
    name: { type: 'string', description: 'Title; in the public definition the name' },
    description: { type: 'string', description: 'What it does, for people and models' },
    input_schema: TYPES,
    output_schema: TYPES,
    permissions: { type: 'array', items: { type: 'string' }, description: 'What its caller needs beside what the steps need' },
    safety_level: { enum: ['low', 'medium', 'high'], description: 'high: a person approves each call' },
    steps: {
      type: 'array',
      maxItems: 16,
      description: 'The calls, in order; {"$param": "x"} is a parameter of the tool, {"$result": "0/x"} of the result of step 0',
      items: { type: 'object', required: ['tool'], properties: { tool: TOOL, params: { type: 'object' } } },
    },
    result: { description: 'The answer, with references; the result of the last step when absent' },
    exec: {
      type: 'object',
      description:
        'A program in place of steps (docs/sandbox.md): it runs in the sandbox, for makers who may run programs; the tool is listed as unavailable, with the reason, and answers NOT_CONFIGURED while the hub has no sandbox for it',
    },
  },
  example: {
    id: 'good_night',
    name: 'Good night',
    description: 'Turns a light off.',
    input_schema: {},
    steps: [{ tool: 'turn_off_light', params: { device_id: '<device id>' } }],
  },
};

const ROUTES = [
  toolRoute({
    method: 'POST',
    path: '/api/v1/tools',
    summary: 'Register a tool that calls tools which are there; who asks is who made it',
    tool: 'hub:register_tool',
    body: RECORD,
    status: 201,
    params: ({ body }) => ({ tool: body }),
  }),
  toolRoute({
    method: 'DELETE',
    path: '/api/v1/tools/:id',
    summary: 'Remove a registered tool: an agent its own, the owner any; what the hub brings cannot be removed',
    tool: 'hub:remove_tool',
    params: ({ path }) => ({ tool_id: path.id ?? '' }),
  }),
];

/** How tools come and go over HTTP (source 003, lifecycle 3): calls of the tools that do it. */
export function registrationRoutes(pipeline: Pick<CallPort, 'call'>): readonly Route[] {
  return ROUTES.map((route) => route(pipeline));
}
