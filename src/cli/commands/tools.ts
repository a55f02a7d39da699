import { isJsonObject, type Json, type JsonObject, objectOf, textsOf } from '../../core/json.ts';
import type { Command, Invocation } from '../command.ts';
import { allTools, objectsIn } from '../hub/answer-lists.ts';
import { HubClient, type Query } from '../hub/hub-client.ts';
import { hubLabels, meshIfAllowed } from '../hub/mesh-status.ts';
import { heading, type Printable } from '../terminal/blocks.ts';
import { cellText, textPairs, textTable } from '../terminal/text-table.ts';

/** Prefix of a reason in a search result. The tool does not match the word after this prefix. */
const MISSING = 'missing: ';
const CATEGORIES = ['sensing', 'acting', 'communicating', 'querying', 'computing', 'managing'];

export const tools: Command = {
  name: 'tools',
  summary: 'list or search the tools, or tell all about one',
  examples: [
    'tools',
    "tools --search 'make the living room bright'",
    'tools living_room_lamp_set_brightness',
    'tools --device living-room-lamp --format openai',
  ],
  operands: [{ name: 'TOOL', help: 'name of one tool', isOptional: true }],
  options: {
    search: { value: 'TEXT', help: 'best matches for a sentence' },
    device: { value: 'DEVICE', help: 'only tools of this device, by id or unique name' },
    capability: { value: 'NAME', help: 'only tools that need this capability' },
    category: { value: 'NAME', help: CATEGORIES.join(', '), completes: CATEGORIES },
    hub: { value: 'HUB', help: 'only tools that this hub of the mesh has, by id or name' },
    format: { value: 'NAME', help: 'openai, anthropic or mcp: the form that model APIs take', completes: ['openai', 'anthropic', 'mcp'] },
  },
  async run(call) {
    const [name] = call.operands;
    if (name !== undefined) return describe(call, name);
    const search = call.text('search');
    if (search !== undefined && call.text('format') === undefined) return find(call, search);
    const tools = await listAll(call);
    if (call.text('format') !== undefined) return call.output.answer(tools, () => JSON.stringify(tools, null, 2));
    const labels = await labelsFor(call, tools);
    const rows = tools.map((tool) => toolRow(tool, labels));
    call.output.answer({ tools, total: tools.length }, () => textTable(['TOOL', 'CATEGORY', 'DOES', 'HUB', ''], rows));
  },
};

/** Prints the tools that match a sentence, best first, with reasons. Then prints the tools that almost match, with what they lack. */
async function find(call: Invocation, search: string): Promise<void> {
  const answer = await call.hub.get('/api/v1/tools', { ...filterOf(call), q: search });
  const [tools, near] = [objectsIn(answer, 'tools'), objectsIn(answer, 'near_misses')];
  const labels = await labelsFor(call, [...tools, ...near]);
  const readings = objectsIn(answer, 'readings');
  const rows = (list: readonly JsonObject[], why: (tool: JsonObject) => string) => list.map((tool) => matchRow(tool, why(tool), labels));
  call.output.answer({ ...answer, tools, near_misses: near, total: tools.length }, () => [
    ...(typeof answer.note === 'string' ? [`${answer.note}\n`] : []),
    tools.length > 0
      ? textTable(['TOOL', 'SURE', 'DOES', 'WHY', 'HUB'], rows(tools, whyOf))
      : 'Nothing fits; "atmo tools" lists all there are\n',
    ...(tools.length > 0 && answer.unsure === true ? ['None of them is sure: name the room and the thing\n'] : []),
    ...whichOne(answer),
    ...(readings.length > 0 ? [heading('Readings'), textTable(['SENSOR', 'SURE', 'NAME', 'AREA'], readings.map(readingRow))] : []),
    ...(near.length > 0 ? [heading('Almost'), textTable(['TOOL', 'SURE', 'DOES', 'LACKS', 'HUB'], rows(near, lackOf))] : []),
  ]);
}

/** If several devices match equally well, returns a table of these devices with the question which one is meant. */
function whichOne({ which_one: which }: JsonObject) {
  if (!isJsonObject(which)) return [];
  const rows = objectsIn(which, 'candidates').map(({ device, area, tool }) => [device, area ?? '', tool]);
  return [heading(String(which.question)), textTable(['DEVICE', 'AREA', 'TOOL'], rows)];
}

function readingRow({ id, confidence, name, area }: JsonObject): readonly unknown[] {
  return [id, sureText(confidence), name, area ?? ''];
}

function sureText(confidence: Json | undefined): string {
  return typeof confidence === 'number' ? `${Math.round(100 * confidence)} %` : '';
}

function matchRow(tool: JsonObject, why: string, labels: ReadonlyMap<string, string>): readonly unknown[] {
  const metadata = objectOf(tool.metadata);
  return [tool.id, sureText(tool.confidence), metadata.title, why, hubNames(tool, labels)];
}

function whyOf({ reasons }: JsonObject): string {
  return textsOf(reasons).join(', ');
}

/** Returns the reasons why a tool is no full match: words of the sentence that the tool does not match, and missing settings of the hub. */
function lackOf({ reasons }: JsonObject): string {
  return textsOf(reasons)
    .filter((reason) => reason.startsWith(MISSING) || reason.startsWith('not configured: '))
    .map((reason) => reason.replace(MISSING, ''))
    .join(', ');
}

async function listAll(call: Invocation): Promise<readonly JsonObject[]> {
  const filter = { ...filterOf(call), q: call.text('search'), format: call.text('format') };
  if (filter.q !== undefined) return objectsIn(await call.hub.get('/api/v1/tools', filter), 'tools');
  return allTools(call.hub, filter);
}

function filterOf(call: Invocation): Query {
  const [device, capability, category] = [call.text('device'), call.text('capability'), call.text('category')];
  return { device, capability, category, node: call.text('hub') };
}

async function describe(call: Invocation, name: string): Promise<void> {
  const tool = await call.hub.get(`/api/v1/tools/${encodeURIComponent(name)}`, { format: call.text('format'), node: call.text('hub') });
  call.output.answer(tool, () => (call.text('format') === undefined ? toolText(tool) : JSON.stringify(tool, null, 2)));
}

/** Returns the display names of hubs. Loads the names only if a tool of another hub is shown. */
async function labelsFor(call: Invocation, tools: readonly JsonObject[]): Promise<ReadonlyMap<string, string>> {
  if (call.output.isJson || tools.every(({ nodes }) => textsOf(nodes).length === 0)) return new Map();
  // This client ignores --hub, because only the connected hub knows the names of all hubs.
  const mesh = await meshIfAllowed(new HubClient(call.io));
  return mesh ? hubLabels(mesh) : new Map();
}

function toolRow(tool: JsonObject, labels: ReadonlyMap<string, string>): readonly unknown[] {
  const metadata = objectOf(tool.metadata);
  return [tool.id, metadata.category, metadata.title, hubNames(tool, labels), availabilityText(tool)];
}

function availabilityText({ available, missing_setting: missingSetting, metadata }: JsonObject): string {
  if (missingSetting !== undefined) return 'not configured';
  if (available !== false) return '';
  return objectOf(metadata).device !== undefined ? 'away' : 'cannot run';
}

function hubNames({ nodes }: JsonObject, labels: ReadonlyMap<string, string>): string {
  return textsOf(nodes)
    .map((id) => labels.get(id) ?? id)
    .join(', ');
}

function toolText(tool: JsonObject): Printable {
  const { properties, required } = objectOf(tool.parameters);
  const rows = Object.entries(objectOf(properties)).map(([name, property]) => {
    const { description, ...constraints } = objectOf(property);
    return [name, textsOf(required).includes(name) ? 'yes' : '', cellText(description ?? ''), cellText(constraints)];
  });
  const metadata = objectOf(tool.metadata);
  return [
    textPairs({
      tool: tool.id,
      title: metadata.title,
      does: tool.description,
      category: metadata.category,
      hubs: tool.nodes,
      needs: needsText(tool.requires),
      'not now': tool.unavailable_reason,
    }),
    heading('Parameters'),
    textTable(['NAME', 'REQUIRED', 'MEANS', 'SCHEMA'], rows),
    heading('Returns'),
    `${JSON.stringify(tool.returns ?? {}, null, 2)}\n`,
  ];
}

/** Returns the permissions that a caller needs, and then the capabilities that the hub needs. */
function needsText(requires: Json | undefined): string {
  const { permissions, capabilities } = objectOf(requires);
  const texts = [permissions, capabilities].flatMap(textsOf);
  return texts.length > 0 ? texts.join(', ') : 'nothing';
}
